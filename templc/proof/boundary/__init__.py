"""Which joints between a known literal and any text no merge of the tokenizer can cross.

Stage of the proof that needs a tokenizer, and nothing else. Six layers, each in a module of its own: control tokens
(`specials`), the normaliser (`normal`), the pre-tokenizer (`regex`, `classes`, `minterms`, `automaton`, `splits`,
`verdicts`), the order of them (`walk`), and on request the vocabulary (`merges`).

    facts = analyse(tokenizer)
    joint(facts, "assistant\\n", anchored=True).safe("Hello")  ->  True
"""

from templc.proof.boundary.facts import TokenizerFacts, analyse
from templc.proof.boundary.joint import Joint, joint
from templc.proof.boundary.verdicts import Verdict

__all__ = ["Joint", "TokenizerFacts", "Verdict", "analyse", "joint"]
