"""The bibliography of public language models, of scoring sentences with them, and of its
statistics."""

from __future__ import annotations

from core.results.papers.reference import Reference

# fmt: off
PAPERS = (
    Reference(
        "biderman2023", 2023, "inproceedings",
        ("Biderman, Stella", "Schoelkopf, Hailey", "Anthony, Quentin", "Bradley, Herbie",
         "O'Brien, Kyle", "Hallahan, Eric", "Khan, Mohammad Aflah", "Purohit, Shivanshu",
         "Prashanth, USVSN Sai", "Raff, Edward", "Skowron, Aviya", "Sutawika, Lintang",
         "van der Wal, Oskar"),
        "Pythia: A Suite for Analyzing Large Language Models Across Training and Scaling", "ICML",
        arxiv="2304.01373",
    ),
    Reference(
        "bonett2000", 2000, "article", ("Bonett, Douglas G.", "Wright, Thomas A."),
        "Sample size requirements for estimating Pearson, Kendall and Spearman correlations",
        "Psychometrika", doi="10.1007/BF02294183",
    ),
    Reference(
        "hu2020", 2020, "inproceedings",
        ("Hu, Jennifer", "Gauthier, Jon", "Qian, Peng", "Wilcox, Ethan", "Levy, Roger"),
        "A Systematic Assessment of Syntactic Generalization in Neural Language Models", "ACL",
        doi="10.18653/v1/2020.acl-main.158", arxiv="2005.03692",
    ),
    Reference(
        "kauf2023", 2023, "inproceedings", ("Kauf, Carina", "Ivanova, Anna"),
        "A Better Way to Do Masked Language Model Scoring", "ACL", arxiv="2305.10588",
    ),
    Reference(
        "korn1998", 1998, "article", ("Korn, Edward L.", "Graubard, Barry I."),
        "Confidence intervals for proportions with small expected number of positive counts "
        "estimated from survey data", "Survey Methodology",
    ),
    Reference(
        "marvin2018", 2018, "inproceedings", ("Marvin, Rebecca", "Linzen, Tal"),
        "Targeted Syntactic Evaluation of Language Models", "EMNLP",
        doi="10.18653/v1/D18-1151", arxiv="1808.09031",
    ),
    Reference(
        "sun2024", 2024, "inproceedings",
        ("Sun, Mingjie", "Chen, Xinlei", "Kolter, J. Zico", "Liu, Zhuang"),
        "Massive Activations in Large Language Models", "COLM", arxiv="2402.17762",
    ),
    Reference(
        "vanderwal2025", 2025, "inproceedings",
        ("van der Wal, Oskar", "Lesci, Pietro", "Müller-Eberstein, Max", "Saphra, Naomi",
         "Schoelkopf, Hailey", "Zuidema, Willem", "Biderman, Stella"),
        "PolyPythias: Stability and Outliers across Fifty Language Model Pre-Training Runs", "ICLR",
        arxiv="2503.09543",
    ),
    Reference(
        "warstadt2020", 2020, "article",
        ("Warstadt, Alex", "Parrish, Alicia", "Liu, Haokun", "Mohananey, Anhad", "Peng, Wei",
         "Wang, Sheng-Fu", "Bowman, Samuel R."),
        "BLiMP: The Benchmark of Linguistic Minimal Pairs for English",
        "Transactions of the Association for Computational Linguistics",
        doi="10.1162/tacl_a_00321", arxiv="1912.00582",
    ),
    Reference(
        "wilson1927", 1927, "article", ("Wilson, Edwin B.",),
        "Probable Inference, the Law of Succession, and Statistical Inference",
        "Journal of the American Statistical Association",
        doi="10.1080/01621459.1927.10502953",
    ),
    Reference(
        "witten1991", 1991, "article", ("Witten, Ian H.", "Bell, Timothy C."),
        "The zero-frequency problem: estimating the probabilities of novel events in adaptive text "
        "compression", "IEEE Transactions on Information Theory", doi="10.1109/18.87000",
    ),
    Reference(
        "xiao2024", 2024, "inproceedings",
        ("Xiao, Guangxuan", "Tian, Yuandong", "Chen, Beidi", "Han, Song", "Lewis, Mike"),
        "Efficient Streaming Language Models with Attention Sinks", "ICLR", arxiv="2309.17453",
    ),
)
