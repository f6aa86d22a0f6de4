"""Every sentence of the study of behaviour: the headline, made of statements, and other texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from core.studies.probes.behaviour.spec import BehaviourSpec
from core.studies.probes.behaviour.statements import (
    BELOW_CHANCE,
    CHANCE,
    CORRELATES,
    HIGHEST,
    LOWEST,
    OTHERWISE,
    TOO_FEW,
    UNDECIDED,
)
from core.studies.probes.behaviour.tables import BIGRAM
from core.studies.probes.minimal_pairs.own import OWN
from core.studies.probes.minimal_pairs.templates import KINDS
from core.studies.probes.trees.data import Treebank
from core.studies.probes.trees.statements import ABOVE, BELOW, SIMILAR
from core.studies.probes.trees.text import beside
from core.studies.text_kit import (
    TWO_LINES,
    Statement,
    leading,
    listed,
    short_name,
    short_names,
    words_beside,
)

CITATIONS = (
    *("warstadt2020", "marvin2018", "salazar2020", "kauf2023", "witten1991"),
    *("wilson1927", "korn1998", "bonett2000", "hu2020"),
)
PROBE_CITATIONS = ("hewitt2019structural", "tenney2019")
NOTHING = words_beside(__file__).sentence("nothing")
NAMES = {
    "agreement": "agreement",
    "reflexive": "reflexives",
    "polarity": "negative polarity",
    "determiner": "determiners",
    "arguments": "verb arguments",
    OWN: "your own",
    "all": "all kinds",
}
SCORES = {
    "uuas of distance": "UUAS",
    "accuracy of pos": "accuracy on parts of speech",
    "accuracy of label": "accuracy on dependency labels",
    "accuracy of distance": "accuracy on head distances",
}
NEAREST = "the models agree with the nearest noun rather than with the subject"
INSTEAD = {
    "agreement": NEAREST,
    "reflexive": NEAREST,
    "polarity": "the models find “ever” more probable after the nearer negation",
}  # what a model does that has a kind wrong


def make_headline(statements: Sequence[Statement]) -> str:
    """Write the statements in sentences: the first model, its kinds of pairs, the probes."""
    return " ".join(_sentences(statements)) or NOTHING


def pairs_sentence(statements: Sequence[Statement]) -> str:
    """As many sentences of the headline as two lines hold; "" without scores."""
    return leading(_sentences(statements), TWO_LINES)


def _sentences(statements: Sequence[Statement]) -> Iterator[str]:
    if not statements:
        return
    first, *rest = statements
    model = first.subject
    margins = [each for each in rest if each.subject == model and each.baseline]
    names = short_names((model, *(each.baseline for each in margins if each.baseline != BIGRAM)))
    names |= {BIGRAM: "the bigram baseline"}
    bigrams = next((each for each in margins if each.baseline == BIGRAM), None)
    score = f"{names[model]} prefers the grammatical sentence in {first.number.text} of pairs"
    if bigrams is None:
        clear = first.number.low > CHANCE
        chance = "chance level (50 %)"
        yield f"{'More' if clear else 'Not detectably more'} often than {chance}: {score}."
    else:
        often = {SIMILAR: "Not detectably more", ABOVE: "More", BELOW: "Less"}[bigrams.verdict]
        gap = bigrams.number.direction("above", "below")
        yield f"{often} often than word pairs alone (bigrams): {score}, {gap} them."
    ends = [
        f"{each.number.value_text} ({NAMES[each.metric]})"
        for verdict in (LOWEST, HIGHEST)
        for each in rest
        if each.verdict == verdict
    ]
    if ends:
        yield f"It ranges from {' to '.join(ends)}."
    clauses = [beside(each, names[each.baseline]) for each in margins if each is not bigrams]
    if clauses:
        yield f"Its accuracy is {listed(clauses)}."
    for each in rest:
        if each.verdict == OTHERWISE:
            yield (
                "Scored on whole sentences instead of the words that the rule concerns, it prefers "
                f"the grammatical one in {each.number.value_text}."
            )
    for each in rest:
        if each.verdict in (CORRELATES, UNDECIDED):
            yield _correlation(each)
    yield from _too_few(rest)


def _too_few(statements: Sequence[Statement]) -> Iterator[str]:
    """Say which models are too few to test a correlation, and what the correlations are."""
    by_models: dict[str, list[str]] = {}
    for each in statements:
        if each.verdict == TOO_FEW:
            value = f"{each.number.value_text} for {SCORES[each.subject]}"
            by_models.setdefault(each.baseline, []).append(value)
    for models, values in by_models.items():
        yield (
            f"{models} are too few to tell whether probes' scores and accuracy on pairs go "
            f"together (rank correlation {', '.join(values)})."
        )


def _correlation(statement: Statement) -> str:
    """Say whether a probe's score and behaviour go together over models."""
    score, value = SCORES[statement.subject], statement.number
    over = f"Over {statement.baseline}"
    if statement.verdict == UNDECIDED:
        return (
            f"{over}, {score} and accuracy on pairs are not detectably correlated (rank "
            f"correlation {value.text})."
        )
    sign = "higher" if value.value > 0 else "lower"
    return (
        f"{over}, higher {score} goes with {sign} accuracy on pairs (rank correlation "
        f"{value.text})."
    )


def make_notices(doubts: Sequence[Statement], refused: Sequence[str]) -> list[str]:
    """Write what limits the headline: rules applied the wrong way round, models left out.

    Args:
        doubts: Of `doubts_of`.
        refused: Models without a language-model head.
    """
    by_verdict: dict[str, dict[str, list[str]]] = {BELOW_CHANCE: {}, OTHERWISE: {}}
    for doubt in doubts:
        score = f"{short_name(doubt.subject)} {doubt.number.value_text}"
        by_verdict[doubt.verdict].setdefault(doubt.metric, []).append(score)
    notices = [
        f"On pairs of {NAMES[kind]}, accuracy is detectably below 50 %, corrected for all models "
        f"and kinds ({', '.join(scores)}): "
        f"{INSTEAD.get(kind, 'the models prefer the wrong sentence')}."
        for kind, scores in by_verdict[BELOW_CHANCE].items()
    ]
    notices += [
        f"On pairs of {NAMES[kind]}, accuracy is detectably different where whole sentences are "
        f"scored, with the words that differ themselves ({', '.join(scores)}); these intervals are "
        "not corrected for the number of models and kinds."
        for kind, scores in by_verdict[OTHERWISE].items()
    ]
    if refused:
        notices.append(refusal(refused))
    return notices


def refusal(refused: Sequence[str]) -> str:
    """Say in one sentence which models cannot be scored, and why."""
    listed = ", ".join(refused)
    return (
        f"Models saved without a language-model head give sentences no probability and are left "
        f"out: {listed}; choose a model saved for masked or causal language modelling."
    )


def make_methods(
    spec: BehaviourSpec,
    heads: Mapping[str, str],
    counted: int,
    treebank: Treebank | None,
    own: int = 0,
) -> str:
    """Write a methods paragraph, ready to paste.

    Args:
        spec: The study.
        heads: "masked" or "causal" for each model that was scored.
        counted: Tokens from which bigrams were counted.
        treebank: The sentences of the probes; None without probes.
        own: Pairs of the reader's own, which were scored in place of the templates'.
    """
    kinds = "; ".join(KINDS[kind] for kind in spec.kinds)
    pairs, region = (
        f"{spec.pairs:,} minimal pairs of each kind ({kinds}), made from templates and "
        "counterbalanced for number",
        "from the word that differs to the end where this word must fit what precedes it "
        "(agreement, reflexives), and the words that it licenses where these follow (polarity, "
        "determiners, arguments), which both sentences share",
    )
    if own:
        pairs = f"{own:,} minimal pairs of {Path(spec.pairs_file).name}"
        region = "from the first word that differs to the end"
    parts = [
        f"{', '.join(heads)} were scored on {pairs}. A pair is right if the grammatical sentence "
        "has the higher score; equal scores count half. Scored is the critical region: "
        f"{region}.",
        (
            "The score of a masked model is the pseudo-log-likelihood (Salazar et al. 2020): each "
            "token is predicted with that token and the later tokens of its word masked "
            "(Kauf & Ivanova 2023), and log-probabilities are summed."
        )
        * ("masked" in heads.values()),
        "The score of a causal model is the log-likelihood." * ("causal" in heads.values()),
        f"The bigram baseline is interpolated (Witten & Bell 1991) and counted from {counted:,} "
        "tokens of the sentences included with the app, far fewer than the models have read. "
        "Pairs with the same differing words form a group and are not independent. Intervals of "
        "accuracies are Wilson's, 95 %, for the effective number of pairs: divided by the design "
        "effect of the groups, and adjusted to their number (Korn & Graubard 1998). Those of "
        "differences are Student's t with the variance over groups.",
        _probe_methods(spec, treebank) if treebank else "",
    ]
    return " ".join(filter(None, parts))


def _probe_methods(spec: BehaviourSpec, treebank: Treebank) -> str:
    counts = {part: len(rows) for part, rows in treebank.parts.items()}
    source = "predicted by a parser" if treebank.parsed else "from the treebank"
    rank = spec.as_probes(spec.refs[0]).rank
    edges = f", and linear classifiers of {', '.join(spec.targets)}" if spec.targets else ""
    return (
        f"Distance probes of rank {rank}{edges} were trained on every layer of every model "
        f"({treebank.corpus.ref}; {counts['train']:,} training, {counts['dev']:,} development and "
        f"{counts['test']:,} test sentences; trees {source}); a model's score is that of the layer "
        "that is best on the development sentences. Rank correlations are Spearman's, with "
        "Bonett and Wright's 95 % intervals and permutation p-values, corrected for all "
        "correlations that are tested (Bonferroni). Models that share a run or a base are not "
        "independent of each other: one of each is tested, and correlations over all models or "
        "over the steps of a run have no interval and no p-value."
    )
