"""The bibliography: one record for every paper that a study, a measure or a docstring cites.

Authors are written "family name, given names"; a name without a comma is that of a group. Fields
that are not known with certainty are left empty. `citing` joins these with the papers of
statistics, of scoring sentences and of architectures, which have modules beside this one.
"""

from __future__ import annotations

from core.results.papers.reference import Reference

ARTICLE, BOOK, MISC, TALK = "article", "book", "misc", "inproceedings"

# fmt: off
PAPERS = (
    Reference(
        "bansal2021", 2021, TALK, ("Bansal, Yamini", "Nakkiran, Preetum", "Barak, Boaz"),
        "Revisiting Model Stitching to Compare Neural Representations",
        "NeurIPS", arxiv="2106.07682",
    ),
    Reference(
        "behrmann2019", 2019, TALK,
        ("Behrmann, Jens", "Grathwohl, Will", "Chen, Ricky T. Q.", "Duvenaud, David",
         "Jacobsen, Jörn-Henrik"),
        "Invertible Residual Networks", "ICML", arxiv="1811.00995",
    ),
    Reference(
        "belrose2023", 2023, TALK,
        ("Belrose, Nora", "Schneider-Joseph, David", "Ravfogel, Shauli", "Cotterell, Ryan",
         "Raff, Edward", "Biderman, Stella"),
        "LEACE: Perfect linear concept erasure in closed form", "NeurIPS", arxiv="2306.03819",
    ),
    Reference(
        "campello2013", 2013, TALK,
        ("Campello, Ricardo J. G. B.", "Moulavi, Davoud", "Sander, Jörg"),
        "Density-Based Clustering Based on Hierarchical Density Estimates", "PAKDD",
    ),
    Reference(
        "charikar2002", 2002, TALK, ("Charikar, Moses", "Chen, Kevin", "Farach-Colton, Martin"),
        "Finding Frequent Items in Data Streams", "ICALP",
    ),
    Reference(
        "dao2022", 2022, TALK,
        ("Dao, Tri", "Chen, Beidi", "Sohoni, Nimit S.", "Desai, Arjun", "Poli, Michael",
         "Grogan, Jessica", "Liu, Alexander", "Rao, Aniruddh", "Rudra, Atri", "Ré, Christopher"),
        "Monarch: Expressive Structured Matrices for Efficient and Accurate Training", "ICML",
        arxiv="2204.00595",
    ),
    Reference(
        "demarneffe2021", 2021, ARTICLE,
        ("de Marneffe, Marie-Catherine", "Manning, Christopher D.", "Nivre, Joakim",
         "Zeman, Daniel"),
        "Universal Dependencies", "Computational Linguistics", doi="10.1162/coli_a_00402",
    ),
    Reference(
        "devlin2019", 2019, TALK,
        ("Devlin, Jacob", "Chang, Ming-Wei", "Lee, Kenton", "Toutanova, Kristina"),
        "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding",
        "NAACL", doi="10.18653/v1/N19-1423", arxiv="1810.04805",
    ),
    Reference(
        "diegosimon2024", 2024, TALK,
        ("Diego-Simón, Pablo", "d'Ascoli, Stéphane", "Chemla, Emmanuel", "Lakretz, Yair",
         "King, Jean-Rémi"),
        "A polar coordinate system represents syntax in large language models", "NeurIPS",
        arxiv="2412.05571",
    ),
    Reference(
        "ding2021", 2021, TALK, ("Ding, Frances", "Denain, Jean-Stanislas", "Steinhardt, Jacob"),
        "Grounding Representation Similarity with Statistical Testing",
        "NeurIPS", arxiv="2108.01661",
    ),
    Reference(
        "dinh2017", 2017, TALK, ("Dinh, Laurent", "Sohl-Dickstein, Jascha", "Bengio, Samy"),
        "Density estimation using Real NVP", "ICLR", arxiv="1605.08803",
    ),
    Reference(
        "dozat2017", 2017, TALK, ("Dozat, Timothy", "Manning, Christopher D."),
        "Deep Biaffine Attention for Neural Dependency Parsing", "ICLR", arxiv="1611.01734",
    ),
    Reference(
        "elazar2021", 2021, ARTICLE,
        ("Elazar, Yanai", "Ravfogel, Shauli", "Jacovi, Alon", "Goldberg, Yoav"),
        "Amnesic Probing: Behavioral Explanation with Amnesic Counterfactuals",
        "Transactions of the Association for Computational Linguistics", arxiv="2006.00995",
    ),
    Reference(
        "groger2026", 2026, TALK, ("Gröger, Fabian", "Wen, Shuo", "Brbić, Maria"),
        "Revisiting the Platonic Representation Hypothesis: An Aristotelian View",
        "Proceedings of Machine Learning Research",
    ),
    Reference(
        "hewitt2019control", 2019, TALK, ("Hewitt, John", "Liang, Percy"),
        "Designing and Interpreting Probes with Control Tasks",
        "EMNLP", doi="10.18653/v1/D19-1275", arxiv="1909.03368",
    ),
    Reference(
        "hewitt2019structural", 2019, TALK, ("Hewitt, John", "Manning, Christopher D."),
        "A Structural Probe for Finding Syntax in Word Representations",
        "NAACL", doi="10.18653/v1/N19-1419",
    ),
    Reference(
        "hewitt2021", 2021, TALK,
        ("Hewitt, John", "Ethayarajh, Kawin", "Liang, Percy", "Manning, Christopher D."),
        "Conditional probing: measuring usable information beyond a baseline",
        "EMNLP", doi="10.18653/v1/2021.emnlp-main.122", arxiv="2109.09234",
    ),
    Reference(
        "horwitz2025", 2025, TALK, ("Horwitz, Eliahu", "Shul, Asaf", "Hoshen, Yedid"),
        "Unsupervised Model Tree Heritage Recovery", "ICLR", arxiv="2405.18432",
    ),
    Reference(
        "hu2022", 2022, TALK,
        ("Hu, Edward J.", "Shen, Yelong", "Wallis, Phillip", "Allen-Zhu, Zeyuan", "Li, Yuanzhi",
         "Wang, Shean", "Wang, Lu", "Chen, Weizhu"),
        "LoRA: Low-Rank Adaptation of Large Language Models", "ICLR", arxiv="2106.09685",
    ),
    Reference(
        "huh2024", 2024, TALK,
        ("Huh, Minyoung", "Cheung, Brian", "Wang, Tongzhou", "Isola, Phillip"),
        "The Platonic Representation Hypothesis", "ICML", arxiv="2405.07987",
    ),
    Reference(
        "ilharco2023", 2023, TALK,
        ("Ilharco, Gabriel", "Ribeiro, Marco Tulio", "Wortsman, Mitchell", "Gururangan, Suchin",
         "Schmidt, Ludwig", "Hajishirzi, Hannaneh", "Farhadi, Ali"),
        "Editing Models with Task Arithmetic", "ICLR", arxiv="2212.04089",
    ),
    Reference(
        "johnstone2001", 2001, ARTICLE, ("Johnstone, Iain M.",),
        "On the distribution of the largest eigenvalue in principal components analysis",
        "Annals of Statistics", doi="10.1214/aos/1009210544",
    ),
    Reference(
        "kalajdzievski2023", 2023, MISC, ("Kalajdzievski, Damjan",),
        "A Rank Stabilization Scaling Factor for Fine-Tuning with LoRA", arxiv="2312.03732",
    ),
    Reference(
        "kingma2015", 2015, TALK, ("Kingma, Diederik P.", "Ba, Jimmy"),
        "Adam: A Method for Stochastic Optimization", "ICLR", arxiv="1412.6980",
    ),
    Reference(
        "kingma2018", 2018, TALK, ("Kingma, Diederik P.", "Dhariwal, Prafulla"),
        "Glow: Generative Flow with Invertible 1x1 Convolutions", "NeurIPS", arxiv="1807.03039",
    ),
    Reference(
        "kornblith2019", 2019, TALK,
        ("Kornblith, Simon", "Norouzi, Mohammad", "Lee, Honglak", "Hinton, Geoffrey"),
        "Similarity of Neural Network Representations Revisited", "ICML", arxiv="1905.00414",
    ),
    Reference(
        "kriegeskorte2008", 2008, ARTICLE,
        ("Kriegeskorte, Nikolaus", "Mur, Marieke", "Bandettini, Peter"),
        "Representational similarity analysis - connecting the branches of systems neuroscience",
        "Frontiers in Systems Neuroscience", doi="10.3389/neuro.06.004.2008",
    ),
    Reference(
        "lenc2015", 2015, TALK, ("Lenc, Karel", "Vedaldi, Andrea"),
        "Understanding image representations by measuring their equivariance and equivalence",
        "CVPR", arxiv="1411.5908",
    ),
    Reference(
        "liu2021", 2021, TALK,
        ("Liu, Leo Z.", "Wang, Yizhong", "Kasai, Jungo", "Hajishirzi, Hannaneh", "Smith, Noah A."),
        "Probing Across Time: What Does RoBERTa Know and When?",
        "Findings of EMNLP", arxiv="2104.07885",
    ),
    Reference(
        "loshchilov2019", 2019, TALK, ("Loshchilov, Ilya", "Hutter, Frank"),
        "Decoupled Weight Decay Regularization", "ICLR", arxiv="1711.05101",
    ),
    Reference(
        "marchenko1967", 1967, ARTICLE, ("Marchenko, Vladimir A.", "Pastur, Leonid A."),
        "Distribution of eigenvalues for some sets of random matrices",
        "Mathematics of the USSR-Sbornik", doi="10.1070/SM1967v001n04ABEH001994",
    ),
    Reference(
        "mcinnes2018", 2018, MISC, ("McInnes, Leland", "Healy, John", "Melville, James"),
        "UMAP: Uniform Manifold Approximation and Projection for Dimension Reduction",
        arxiv="1802.03426",
    ),
    Reference(
        "merchant2020", 2020, TALK,
        ("Merchant, Amil", "Rahimtoroghi, Elahe", "Pavlick, Ellie", "Tenney, Ian"),
        "What Happens To BERT Embeddings During Fine-tuning?",
        "BlackboxNLP", doi="10.18653/v1/2020.blackboxnlp-1.4", arxiv="2004.14448",
    ),
    Reference(
        "morcos2018", 2018, TALK, ("Morcos, Ari S.", "Raghu, Maithra", "Bengio, Samy"),
        "Insights on representational similarity in neural networks with canonical correlation",
        "NeurIPS", arxiv="1806.05759",
    ),
    Reference(
        "nguyen2021", 2021, TALK, ("Nguyen, Thao", "Raghu, Maithra", "Kornblith, Simon"),
        "Do Wide and Deep Networks Learn the Same Things? Uncovering How Neural Network "
        "Representations Vary with Width and Depth", "ICLR", arxiv="2010.15327",
    ),
    Reference(
        "raghu2017", 2017, TALK,
        ("Raghu, Maithra", "Gilmer, Justin", "Yosinski, Jason", "Sohl-Dickstein, Jascha"),
        "SVCCA: Singular Vector Canonical Correlation Analysis for Deep Learning Dynamics and "
        "Interpretability", "NeurIPS", arxiv="1706.05806",
    ),
    Reference(
        "ren2023", 2023, MISC,
        ("Ren, Yuxin", "Guo, Qipeng", "Jin, Zhijing", "Ravfogel, Shauli", "Sachan, Mrinmaya",
         "Schölkopf, Bernhard", "Cotterell, Ryan"),
        "All Roads Lead to Rome? Exploring the Invariance of Transformers' Representations",
        arxiv="2305.14555",
    ),
    Reference(
        "roy2007", 2007, TALK, ("Roy, Olivier", "Vetterli, Martin"),
        "The effective rank: A measure of effective dimensionality", "EUSIPCO",
    ),
    Reference(
        "rudelson2007", 2007, ARTICLE, ("Rudelson, Mark", "Vershynin, Roman"),
        "Sampling from large matrices: An approach through geometric functional analysis",
        "Journal of the ACM",
    ),
    Reference(
        "salazar2020", 2020, TALK, ("Salazar, Julian", "Liang, Davis", "Nguyen, Toan Q.",
        "Kirchhoff, Katrin"), "Masked Language Model Scoring", "ACL", arxiv="1910.14659",
    ),
    Reference(
        "saphra2019", 2019, TALK, ("Saphra, Naomi", "Lopez, Adam"),
        "Understanding Learning Dynamics Of Language Models with SVCCA",
        "NAACL", arxiv="1811.00225",
    ),
    Reference(
        "saunders1998", 1998, TALK, ("Saunders, Craig", "Gammerman, Alexander", "Vovk, Volodya"),
        "Ridge Regression Learning Algorithm in Dual Variables", "ICML",
    ),
    Reference(
        "schonemann1966", 1966, ARTICLE, ("Schönemann, Peter H.",),
        "A generalized solution of the orthogonal Procrustes problem",
        "Psychometrika", doi="10.1007/BF02289451",
    ),
    Reference(
        "schutt2023", 2023, ARTICLE,
        ("Schütt, Heiko H.", "Kipnis, Alexander D.", "Diedrichsen, Jörn", "Kriegeskorte, Nikolaus"),
        "Statistical inference on representational geometries", "eLife", doi="10.7554/eLife.82566",
    ),
    Reference(
        "sellam2022", 2022, TALK,
        ("Sellam, Thibault", "Yadlowsky, Steve", "Tenney, Ian", "Wei, Jason", "Saphra, Naomi",
         "D'Amour, Alexander", "Linzen, Tal", "Bastings, Jasmijn", "Turc, Iulia",
         "Eisenstein, Jacob", "Das, Dipanjan", "Pavlick, Ellie"),
        "The MultiBERTs: BERT Reproductions for Robustness Analysis", "ICLR", arxiv="2106.16163",
    ),
    Reference(
        "shuttleworth2024", 2024, MISC,
        ("Shuttleworth, Reece", "Andreas, Jacob", "Torralba, Antonio", "Sharma, Pratyusha"),
        "LoRA vs Full Fine-tuning: An Illusion of Equivalence", arxiv="2410.21228",
    ),
    Reference(
        "tenney2019", 2019, TALK,
        ("Tenney, Ian", "Xia, Patrick", "Chen, Berlin", "Wang, Alex", "Poliak, Adam",
         "McCoy, R. Thomas", "Kim, Najoung", "Van Durme, Benjamin", "Bowman, Samuel R.",
         "Das, Dipanjan", "Pavlick, Ellie"),
        "What do you learn from context? Probing for sentence structure in contextualized word "
        "representations", "ICLR", arxiv="1905.06316",
    ),
    Reference(
        "timkey2021", 2021, TALK, ("Timkey, William", "van Schijndel, Marten"),
        "All Bark and No Bite: Rogue Dimensions in Transformer Language Models Obscure "
        "Representational Quality", "EMNLP", arxiv="2109.04404",
    ),
    Reference(
        "vanaken2019", 2019, TALK,
        ("van Aken, Betty", "Winter, Benjamin", "Löser, Alexander", "Gers, Felix A."),
        "How Does BERT Answer Questions? A Layer-Wise Analysis of Transformer Representations",
        "CIKM", doi="10.1145/3357384.3358028", arxiv="1909.04925",
    ),
    Reference(
        "vandermaaten2008", 2008, ARTICLE, ("van der Maaten, Laurens", "Hinton, Geoffrey"),
        "Visualizing Data using t-SNE", "Journal of Machine Learning Research",
    ),
    Reference(
        "vectorsinthewild", None, MISC, (),
        "Vectors in the wild: clustering fine-tuned models by low-rank factors of their weight "
        "deltas",
    ),
    Reference(
        "voita2020", 2020, TALK, ("Voita, Elena", "Titov, Ivan"),
        "Information-Theoretic Probing with Minimum Description Length",
        "EMNLP", arxiv="2003.12298",
    ),
    Reference(
        "xu2025", 2025, MISC,
        ("Xu, Zhiqiu", "Sethi, Amish", "Naik, Mayur", "Lim, Ser-Nam"),
        "Delta Activations: A Representation for Finetuned Large Language Models",
        arxiv="2509.04442",
    ),
)
# fmt: on
