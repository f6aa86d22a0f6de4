"""Model cards, made from the manifest: description, scores, sources, licences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from core.errors import RecipeError
from core.models.files.layout import SAFETENSORS
from core.models.zoo import CAUSAL, MASKED, READING
from zoo.recipe.heads import BASES, base_on_hub, head, owner
from zoo.recipe.tasks import REVIEW

TASKS = {
    MASKED: "masked-token prediction",
    CAUSAL: "next-token prediction",
    "nli": "natural-language inference",
    "sentiment": "sentiment of film reviews",
    "subjectivity": "subjective or objective sentences",
    "question": "answer types of questions",
    "pos": "part-of-speech tags",
    "parse": "dependency heads",
    READING: "extractive question answering",
    REVIEW: "sentences of film reviews",
}
SETTINGS = {"dose": "factor on the learning rate", "frozen": "frozen layers"}  # others by name
HEADS = {"head at +1": "head is the next word", "head at -1": "head is the word before"}
EXAMPLES = {
    MASKED: "Ten examples of masked-word prediction (chosen before training, none left out)",
    CAUSAL: "Ten beginnings and the next word (chosen before training, none left out)",
}
PRETRAINED = {
    MASKED: (
        "held-out text, a quarter of the tokens masked",
        "masked tokens",
        "masked_accuracy",
    ),
    CAUSAL: (
        "held-out text, each token predicted from those before it",
        "next tokens",
        "next_token_accuracy",
    ),
}
MADE_BY_RULE = (
    "The questions that it learned were made by rule from parsed sentences (who, what, whom, "
    "where, when), not asked by people, and the answer always stands in the passage. "
    "Its scores say nothing about questions of another form."
)
NON_COMMERCIAL = "CC BY-NC-SA 3.0"


def write_cards(out: Path, entries: list[dict[str, Any]]) -> list[Path]:
    """Write `out/models/NAME/README.md` for every entry. Raises RecipeError if one cannot be
    written."""
    by_ref = {entry["ref"]: entry for entry in entries}
    written = []
    for entry in entries:
        path = out / "models" / entry["name"] / "README.md"
        try:
            path.write_text(card(entry, by_ref.get(entry["base"]), owner()), encoding="utf8")
        except OSError as error:
            raise RecipeError(
                f"{path} could not be written ({error}); free some space and run again."
            ) from error
        written.append(path)
    return written


def card(entry: dict[str, Any], base: dict[str, Any] | None, owner: str) -> str:
    """Write one model's card in Markdown, with the head that the Hub reads; its base is called
    after the `owner` on the Hub."""
    lines = [head(entry, base, owner), f"# {entry['ref']}", "", *_what(entry, owner), ""]
    lines += ["## Scores", "", *_scores(entry), ""]
    if entry.get("examples"):
        lines += [f"## {EXAMPLES[entry['task']]}", "", *_blanks(entry), ""]
    lines += ["## Sources and licences", "", *_licences(entry, base), ""]
    lines += ["## How it was made", "", *_making(entry), ""]
    return "\n".join(lines)


def _what(entry: dict[str, Any], owner: str) -> list[str]:
    if "rank" in entry["settings"]:
        return _adapter(entry, owner)
    size = (
        f"{entry['parameters']:,} parameters, 16-bit floats (fp16) in safetensors, "
        f"{entry['bytes'] / 1e6:.1f} MB"
    )
    if entry["task"] == CAUSAL:
        return [
            "A small decoder in Llama's form (rotary positions, gated feed-forward part), "
            f"pretrained to predict the next token; {size}.",
            f"Random seed {entry['seed']}. The decoders differ only in their initial weights and "
            "in the order of the data. Text and vocabulary are those of the masked seeds.",
            f"English, lower case, trained on windows of {entry['settings']['length']} tokens: "
            "predictions beyond that length are not to be relied on. "
            "[CLS] begins a text and [SEP] ends a paragraph. "
            "Trained to study decoders, not for other use.",
        ]
    if entry["task"] == MASKED:
        lines = [
            "A small BERT with rotary positions (RoFormer), pretrained as a masked language model; "
            f"{size}.",
            f"Random seed {entry['seed']}. "
            "The seeds differ only in their initial weights and in the order of the data.",
            "English, lower case. Trained to study the effects of fine-tuning and random seeds, "
            "not for other use.",
        ]
        if entry["second_run_of"]:
            lines.append(_second(entry))
        return [*lines, _early(entry)] if "@" in entry["name"] else lines
    lines = [
        f"{entry['base']} fine-tuned on {TASKS.get(entry['task'], entry['task'])}, "
        f"run {entry['seed']}; {size}. Runs of a task differ in the initial weights of the task "
        "head and in the order of the data.",
        "The difference from the base's weights is exactly the fine-tuning update: "
        "training started from the base's fp16 weights, and both files are fp16. "
        "The task head is saved with the model.",
    ]  # fmt: skip
    return [*lines, *_truth(entry)]


def _second(entry: dict[str, Any]) -> str:
    return (
        f"The recipe of {entry['second_run_of']} run a second time with other kernels: "
        "initial weights, data and their order are the same, "
        f"so the two differ only by what rounding became over {entry['steps']:,} steps. "
        "As far as two models of one seed differ, a difference between seeds says nothing."
    )


def _adapter(entry: dict[str, Any], owner: str) -> list[str]:
    rank, alpha = entry["settings"]["rank"], entry["settings"]["alpha"]
    kind, _, base = entry["base"].partition(":")
    here = f", in Palimpsest's repository as `zoo/models/{base}`, which PEFT finds from its root"
    head = (
        "A decoder's adapter has no head of its own: "
        "it predicts the next token with the base's embeddings."
        if entry["task"] == REVIEW
        else "The task head is saved with the factors, "
        "and its configuration beside them (`config.json`)."
    )
    lines = [
        f"A LoRA adapter of rank {rank} of {entry['base']}, trained on "
        f"{TASKS.get(entry['task'], entry['task'])}; {entry['parameters']:,} parameters, "
        f"16-bit floats (fp16) in PEFT's format, {entry['bytes'] / 1e6:.2g} MB.",
        "Every matrix of attention and of the feed-forward part has factors; its update is "
        f"{alpha / rank:g} times their product. Biases, layer norms and embeddings are the base's. "
        + head,
        "The weights page compares an adapter's factors with its base; every other page runs the "
        f"model that they make. `python -m core convert {entry['ref']}` writes that model.",
        f"`adapter_config.json` names the base: on the Hub as `{base_on_hub(entry, owner)}`"
        + (here if kind == "zoo" else ", which is downloaded")
        + ".",
    ]
    if entry["kind"] == "arcs":
        lines.append("The task head is Palimpsest's own: PEFT alone does not run it.")
    return [*lines, MADE_BY_RULE] if entry["task"] == READING else lines


def _early(entry: dict[str, Any]) -> str:
    seed = entry["name"].partition("@")[0]
    if entry["step"] == 0:
        return f"These are the initial weights of zoo:{seed}, before the first training step."
    return (
        f"An intermediate checkpoint of zoo:{seed} after {entry['step']:,} steps, "
        "with the same initial weights and the same order of the data."
    )


def _truth(entry: dict[str, Any]) -> list[str]:
    """Say how a fine-tune's training differs from that of its task's other runs."""
    lines = []
    if entry["frozen"]:
        lines.append(
            f"The embeddings and the lowest {entry['frozen']} layers were frozen; their weights "
            "are identical to the base's. All other settings are those of the task's other runs."
        )
    if entry["dose"] != 1:
        lines.append(
            f"Trained with {_factor(entry['dose'])} the learning rate of the task's other runs; "
            "all other settings are the same."
        )
    return lines


def _factor(dose: float) -> str:
    return f"{dose:g} times" if dose > 1 else f"1/{1 / dose:g} of"


def _scores(entry: dict[str, Any]) -> list[str]:
    if entry["task"] in PRETRAINED:
        scores, baselines = entry["scores"], entry["baselines"]
        text, tokens, accuracy = PRETRAINED[entry["task"]]
        return [
            f"| {text} | |",
            "|---|---|",
            f"| loss of the {tokens} (nats) | {scores['held_out_loss']:.3f} |",
            f"| accuracy of the {tokens} | {_percent(scores[accuracy])} |",
            f"| cross-entropy of an interpolated bigram model (nats) | {baselines['score']:.3f} |",
            f"| cross-entropy of a unigram model (nats) | {baselines['unigram']:.3f} |",
        ]
    if entry["task"] == REVIEW:
        return [
            f"| {entry['test_examples']:,} held-out sentences | |",
            "|---|---|",
            f"| loss of the next tokens (nats) | {entry['score']:.3f} |",
            f"| accuracy of the next tokens | {_percent(entry['scores']['next_token_accuracy'])} |",
            f"| loss of {entry['base']} on the same sentences (nats) | {entry['baseline']:.3f} |",
        ]
    if entry["task"] == READING:
        return _answers(entry)
    rows = [f"| {entry['test_examples']:,} held-out sentences or pairs | |", "|---|---|"]
    rows += [f"| {name} | {_percent(value)} |" for name, value in entry["scores"].items()]
    answer = entry["baselines"]["answer"]
    majority = f"majority baseline ({HEADS.get(answer, answer)})"
    return [*rows, f"| {majority} | {_percent(entry['baseline'])} |"]


def _answers(entry: dict[str, Any]) -> list[str]:
    exact, f1 = (entry["scores"][name] for name in ("exact_match", "F1"))
    guess = entry["baselines"]
    return [
        f"| {entry['test_examples']:,} held-out questions | F1 | exact match |",
        "|---|---|---|",
        f"| the model | {_percent(f1)} | {_percent(exact)} |",
        f"| the name nearest to the question's words | {_percent(guess['score'])} "
        f"| {_percent(guess['exact_match'])} |",
    ]


def _percent(share: float, decimals: int = 1) -> str:
    return f"{100 * share:.{decimals}f} %"


def _blanks(entry: dict[str, Any]) -> list[str]:
    rows = ["| sentence | five most probable words |", "|---|---|"]
    for example in entry["examples"]:
        pairs = zip(example["words"], example["probabilities"], strict=True)
        rows.append(
            f"| {example['text']} "
            f"| {', '.join(f'{word} ({_percent(share, 0)})' for word, share in pairs)} |"
        )
    return rows


def _licences(entry: dict[str, Any], base: dict[str, Any] | None) -> list[str]:
    lines = [f"- Trained on: {entry['data']}. Licence of the data: {entry['licence']}."]
    if entry["licence"] == NON_COMMERCIAL:
        lines.append(
            "- That licence requires attribution, no commercial use, "
            "and the same licence for derived work."
        )
    if base is not None:
        lines.append(
            f"- Its base {base['ref']} was trained on: {base['data']}. Licence: {base['licence']}."
        )
    if entry["base"] in BASES:
        data, licence = BASES[entry["base"]]
        lines.append(f"- Its base {entry['base']} was trained on: {data}. Licence: {licence}.")
    text = "The file contains no text of the sources. If you redistribute it, include this section."
    return [*lines, f"- {text}"]


def _making(entry: dict[str, Any]) -> list[str]:
    unused = {"keep_steps"} | ({"masked", "whole_words"} if entry["task"] == CAUSAL else set())
    told = sorted(
        pair for pair in entry["settings"].items() if pair[1] is not None and pair[0] not in unused
    )
    settings = ", ".join(
        f"{SETTINGS.get(name, name.replace('_', ' '))} "
        f"{f'{value:.4g}' if isinstance(value, float) else value}"
        for name, value in told
    )
    seen = f"{entry['steps']:,} steps" + (
        f", {entry['tokens']:,} tokens seen" if entry.get("tokens") else ""
    )
    command = "make zoo"
    if str(entry["base"]).startswith("hub:"):
        command = f"python -m zoo.recipe --base {entry['base']} --task {entry['task']}"
    return [
        f"`{command}`; {seen}. Settings: {settings}.",
        "",
        f"sha256 of {_weights(entry)}: `{entry['sha256']}`",
    ]


def _weights(entry: dict[str, Any]) -> str:
    """Name the file of weights, whose hash the entry gives."""
    files = entry.get("files", {}).items()
    return next((name for name, digest in files if digest == entry["sha256"]), SAFETENSORS)
