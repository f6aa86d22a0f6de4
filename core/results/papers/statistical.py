"""The bibliography of statistics and numerics: see `core.results.papers.bibliography`."""

from __future__ import annotations

from core.results.papers.reference import Reference

ARTICLE, BOOK, MISC, TALK = "article", "book", "misc", "inproceedings"

# fmt: off
PAPERS = (
    Reference(
        "akaike1974", 1974, ARTICLE, ("Akaike, Hirotugu",),
        "A new look at the statistical model identification",
        "IEEE Transactions on Automatic Control", doi="10.1109/TAC.1974.1100705",
    ),
    Reference(
        "anderson2003", 2003, ARTICLE, ("Anderson, Marti J.", "ter Braak, Cajo J. F."),
        "Permutation tests for multi-factorial analysis of variance",
        "Journal of Statistical Computation and Simulation",
    ),
    Reference(
        "cook1982", 1982, BOOK, ("Cook, R. Dennis", "Weisberg, Sanford"),
        "Residuals and Influence in Regression", "Chapman & Hall",
    ),
    Reference(
        "efron1993", 1993, BOOK, ("Efron, Bradley", "Tibshirani, Robert J."),
        "An Introduction to the Bootstrap", "Chapman & Hall",
    ),
    Reference(
        "golub2013", 2013, BOOK, ("Golub, Gene H.", "Van Loan, Charles F."),
        "Matrix Computations", "Johns Hopkins University Press",
    ),
    Reference(
        "good2005", 2005, BOOK, ("Good, Phillip",),
        "Permutation, Parametric and Bootstrap Tests of Hypotheses", "Springer",
    ),
    Reference(
        "gower2004", 2004, BOOK, ("Gower, John C.", "Dijksterhuis, Garmt B."),
        "Procrustes Problems", "Oxford University Press",
    ),
    Reference(
        "hoerl1970", 1970, ARTICLE, ("Hoerl, Arthur E.", "Kennard, Robert W."),
        "Ridge Regression: Biased Estimation for Nonorthogonal Problems",
        "Technometrics", doi="10.1080/00401706.1970.10488634",
    ),
    Reference(
        "hothorn2008", 2008, ARTICLE, ("Hothorn, Torsten", "Bretz, Frank", "Westfall, Peter"),
        "Simultaneous Inference in General Parametric Models", "Biometrical Journal",
        doi="10.1002/bimj.200810425",
    ),
    Reference(
        "hotelling1936", 1936, ARTICLE, ("Hotelling, Harold",),
        "Relations Between Two Sets of Variates", "Biometrika", doi="10.1093/biomet/28.3-4.321",
    ),
    Reference(
        "hubert1985", 1985, ARTICLE, ("Hubert, Lawrence", "Arabie, Phipps"),
        "Comparing partitions", "Journal of Classification", doi="10.1007/BF01908075",
    ),
    Reference(
        "hurvich1989", 1989, ARTICLE, ("Hurvich, Clifford M.", "Tsai, Chih-Ling"),
        "Regression and time series model selection in small samples",
        "Biometrika", doi="10.1093/biomet/76.2.297",
    ),
    Reference(
        "izenman1975", 1975, ARTICLE, ("Izenman, Alan Julian",),
        "Reduced-rank regression for the multivariate linear model",
        "Journal of Multivariate Analysis", doi="10.1016/0047-259X(75)90042-1",
    ),
    Reference(
        "kruskal1964", 1964, ARTICLE, ("Kruskal, Joseph B.",),
        "Multidimensional scaling by optimizing goodness of fit to a nonmetric hypothesis",
        "Psychometrika", doi="10.1007/BF02289565",
    ),
    Reference(
        "kuhn1955", 1955, ARTICLE, ("Kuhn, Harold W.",),
        "The Hungarian method for the assignment problem",
        "Naval Research Logistics Quarterly", doi="10.1002/nav.3800020109",
    ),
    Reference(
        "kullback1951", 1951, ARTICLE, ("Kullback, Solomon", "Leibler, Richard A."),
        "On Information and Sufficiency", "The Annals of Mathematical Statistics",
    ),
    Reference(
        "lin1991", 1991, ARTICLE, ("Lin, Jianhua",),
        "Divergence measures based on the Shannon entropy",
        "IEEE Transactions on Information Theory", doi="10.1109/18.61115",
    ),
    Reference(
        "minka2003", 2003, MISC, ("Minka, Thomas P.",),
        "A comparison of numerical optimizers for logistic regression",
        "Technical report, Carnegie Mellon University",
    ),
    Reference(
        "nocedal2006", 2006, BOOK, ("Nocedal, Jorge", "Wright, Stephen J."),
        "Numerical Optimization", "Springer",
    ),
    Reference(
        "phipson2010", 2010, ARTICLE, ("Phipson, Belinda", "Smyth, Gordon K."),
        "Permutation P-values Should Never Be Zero: Calculating Exact P-values When "
        "Permutations Are Randomly Drawn",
        "Statistical Applications in Genetics and Molecular Biology", doi="10.2202/1544-6115.1585",
    ),
    Reference(
        "sokal1958", 1958, ARTICLE, ("Sokal, Robert R.", "Michener, Charles D."),
        "A statistical method for evaluating systematic relationships",
        "University of Kansas Science Bulletin",
    ),
    Reference(
        "song2012", 2012, ARTICLE,
        ("Song, Le", "Smola, Alex", "Gretton, Arthur", "Bedo, Justin", "Borgwardt, Karsten"),
        "Feature Selection via Dependence Maximization", "Journal of Machine Learning Research",
    ),
    Reference(
        "strehl2002", 2002, ARTICLE, ("Strehl, Alexander", "Ghosh, Joydeep"),
        "Cluster Ensembles - A Knowledge Reuse Framework for Combining Multiple Partitions",
        "Journal of Machine Learning Research",
    ),
    Reference(
        "torgerson1952", 1952, ARTICLE, ("Torgerson, Warren S.",),
        "Multidimensional scaling: I. Theory and method", "Psychometrika",
    ),
    Reference(
        "welch1947", 1947, ARTICLE, ("Welch, B. L.",),
        "The generalization of Student's problem when several different population variances "
        "are involved", "Biometrika",
    ),
    Reference(
        "zou2008", 2008, ARTICLE, ("Zou, Guang Yong", "Donner, Allan"),
        "Construction of confidence limits about effect measures: A general approach",
        "Statistics in Medicine",
    ),
)
# fmt: on
