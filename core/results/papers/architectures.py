"""The bibliography of architectures and of formats of weights."""

from __future__ import annotations

from core.results.papers.reference import Reference

# fmt: off
PAPERS = (
    Reference(
        "dettmers2022", 2022, "inproceedings",
        ("Dettmers, Tim", "Lewis, Mike", "Belkada, Younes", "Zettlemoyer, Luke"),
        "LLM.int8(): 8-bit Matrix Multiplication for Transformers at Scale", "NeurIPS",
        arxiv="2208.07339",
    ),
    Reference(
        "dettmers2023", 2023, "inproceedings",
        ("Dettmers, Tim", "Pagnoni, Artidoro", "Holtzman, Ari", "Zettlemoyer, Luke"),
        "QLoRA: Efficient Finetuning of Quantized LLMs", "NeurIPS", arxiv="2305.14314",
    ),
    Reference(
        "frantar2023", 2023, "inproceedings",
        ("Frantar, Elias", "Ashkboos, Saleh", "Hoefler, Torsten", "Alistarh, Dan"),
        "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained Transformers",
        "ICLR", arxiv="2210.17323",
    ),
    Reference(
        "lin2024", 2024, "inproceedings",
        ("Lin, Ji", "Tang, Jiaming", "Tang, Haotian", "Yang, Shang", "Chen, Wei-Ming",
         "Wang, Wei-Chen", "Xiao, Guangxuan", "Dang, Xingyu", "Gan, Chuang", "Han, Song"),
        "AWQ: Activation-aware Weight Quantization for On-Device LLM Compression and "
        "Acceleration", "MLSys", arxiv="2306.00978",
    ),
    Reference(
        "micikevicius2022", 2022, "article",
        ("Micikevicius, Paulius", "Stosic, Dusan", "Burgess, Neil", "Cornea, Marius",
         "Dubey, Pradeep", "Grisenthwaite, Richard", "Ha, Sangwon", "Heinecke, Alexander",
         "Judd, Patrick", "Kamalu, John", "Mellempudi, Naveen", "Oberman, Stuart",
         "Shoeybi, Mohammad", "Siu, Michael", "Wu, Hao"),
        "FP8 Formats for Deep Learning", "arXiv preprint", arxiv="2209.05433",
    ),
    Reference(
        "yang2025", 2025, "inproceedings",
        ("Yang, Songlin", "Kautz, Jan", "Hatamizadeh, Ali"),
        "Gated Delta Networks: Improving Mamba2 with Delta Rule", "ICLR", arxiv="2412.06464",
    ),
)
# fmt: on
