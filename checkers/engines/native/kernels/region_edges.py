"""Kernels for properties about whole runs: states are judged, and the graph of a region is listed.

The states of a region are numbered. An edge is one word, `number << LABEL_BITS | label`: the state that a step leads
to, and which fairness constraint the step counts for, 0 for none. Steps that change nothing are left out. Those to
the outside are listed by themselves, as far as they count for something.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reassure.checkers.engines.native.kernels.model_code import ModelCode, action_of
from reassure.checkers.engines.native.kernels.state_table import BATCH, next_slot, slot_of, words_at
from reassure.checkers.engines.native.kernels.tally import ACTIONS_AT, CLIPS_TOTAL, ERROR
from reassure.checkers.engines.native.translator.language import (
    Static,
    Words,
    kernel,
    prefetch,
    scaled,
    words_from,
    wrap,
)

LABEL_BITS = 24
MOST_LABELS = (1 << LABEL_BITS) - 1
CLIPPED = 1 << LABEL_BITS - 1
"""Of a label of a step to the outside: not a constraint, but an action of which a step left a bound."""

Judge = Callable[[Words, Words, int], int]
"""(state, tally, row number) -> what holds of a state, by bit."""

AHEAD = 32
"""States whose slots are on their way to the cache while one is noted."""
_MIX = -7046029254386353131


@dataclass
class JudgeArguments:
    """States, and the function that judges them."""

    judge: Judge
    rows: Words
    count: int
    verdicts: Words
    """Gets what holds of each state."""
    tally: Words


@kernel
def judge_rows(words: Static, a: JudgeArguments) -> None:
    """Judges every row."""
    for i in range(a.count):
        a.verdicts[i] = a.judge(words_from(a.rows, i * words), a.tally, i)


@kernel
def number_states(words: Static, rows: Words, count: int, index: Words, slots: int) -> None:
    """Notes by slot 1 + the number of each state; the states are distinct, the index is empty."""
    for i in range(count):
        if i + AHEAD < count:
            prefetch(index, slot_of(words_at(words, rows, (i + AHEAD) * words), slots))
        slot = slot_of(words_at(words, rows, i * words), slots)
        while index[slot] != 0:
            slot = next_slot(slot, slots)
        index[slot] = i + 1


@dataclass
class RegionArguments:
    """States whose steps are listed, how they are numbered, and what counts for fairness."""

    model: ModelCode
    rows: Words
    known: Words
    """The states that have numbers, by number."""
    low: int
    """The next state to expand."""
    high: int
    index: Words
    slots: int
    actions: int
    action_labels: Words
    """By action: its label, 0 if it is not fair, -1 if it is fair for each value of some parameters."""
    masks: Words
    """By action: masks of those parameters in the words of a step's parameters."""
    labels: Words
    """The labels of the latter: from number 1 on, the action and the masked words."""
    label_count: int
    label_room: int
    label_index: Words
    """By slot, the number of a label."""
    label_slots: int
    successors: Words
    """Room for `BATCH` rows and the successors of one state."""
    slots_of: Words
    """Room for as many slots."""
    counts: Words
    """Room for the numbers of successors of `BATCH` states."""
    before: Words
    """Room for what the tally says of each action."""
    clips: Words
    """Room for `BATCH` rows with 1 + a word for each action: whether steps of it were clipped, and how many."""
    degrees: Words
    """By row from `low` on: the number of its edges."""
    edges: Words
    end: int
    enabled: Words
    """Gets state << LABEL_BITS | label for each label of a step from the state, once."""
    enabled_end: int
    outside: Words
    """Gets state << LABEL_BITS | label for each step to the outside that counts, or is clipped."""
    outside_end: int
    room: int
    """The listing ends early where fewer words than a batch may need are left of one of the three."""
    tally: Words


@kernel
def mixed(h: int, word: int) -> int:
    """The hash of what was hashed and one more word."""
    return wrap((h ^ (h >> 32) ^ (word + 1)) * _MIX)


@kernel
def index_labels(width: int, labels: Words, count: int, index: Words, slots: int) -> None:
    """Notes the numbers of the labels that have parameters in an index that is empty; `width`: words of a label."""
    for label in range(1, count + 1):
        h = mixed(0, labels[label * width])
        for k in range(1, width):
            h = mixed(h, labels[label * width + k])
        slot = scaled(h, slots)
        while index[slot] != 0:
            slot = next_slot(slot, slots)
        index[slot] = label


@kernel
def label_of(words: Static, a: RegionArguments, action: int, at: int) -> int:
    """The label of the step in the successor row that begins at an index; a new one if there is none; -1: no room."""
    found = a.action_labels[action]
    if found >= 0:
        return found
    width = 1 + a.model.parameter_words
    first = at + words + a.model.step_words
    h = mixed(0, action)
    for k in range(a.model.parameter_words):
        h = mixed(h, a.successors[first + k] & a.masks[action * a.model.parameter_words + k])
    slot = scaled(h, a.label_slots)
    while a.label_index[slot] != 0:
        label = a.label_index[slot]
        same = a.labels[label * width] == action
        for k in range(a.model.parameter_words):
            masked = a.successors[first + k] & a.masks[action * a.model.parameter_words + k]
            if a.labels[label * width + 1 + k] != masked:
                same = False
        if same:
            return label
        slot = next_slot(slot, a.label_slots)
    if a.label_count >= a.label_room:
        return -1
    a.label_count += 1
    a.label_index[slot] = a.label_count
    a.labels[a.label_count * width] = action
    for k in range(a.model.parameter_words):
        masked = a.successors[first + k] & a.masks[action * a.model.parameter_words + k]
        a.labels[a.label_count * width + 1 + k] = masked
    return a.label_count


@kernel
def expand_noting_clips(words: Static, a: RegionArguments, i: int, k: int, n: int) -> int:
    """Appends the successors of state i, the k-th of its batch, from row n on; the new end."""
    width = 1 + a.actions
    clips = a.tally[CLIPS_TOTAL]
    for action in range(a.actions):
        a.before[action] = a.tally[ACTIONS_AT + action]
    end = a.model.expand(words_from(a.rows, i * words), a.successors, n, a.tally, i)
    a.clips[k * width] = 0
    if a.tally[CLIPS_TOTAL] != clips:
        a.clips[k * width] = 1
        for action in range(a.actions):
            a.clips[k * width + 1 + action] = a.tally[ACTIONS_AT + action] - a.before[action]
        for row in range(n, end):
            a.clips[k * width + 1 + action_of(words, a.successors, row * a.model.row_words)] -= 1
    return end


@kernel
def enable(a: RegionArguments, begin: int, state: int, label: int) -> None:
    """Notes that a label is enabled in a state, whose labels begin at an index, ascending, if that is not noted yet."""
    key = state << LABEL_BITS | label
    at = a.enabled_end
    while at > begin and a.enabled[at - 1] > key:
        at -= 1
    if at == begin or a.enabled[at - 1] != key:
        for i in range(a.enabled_end - at):
            a.enabled[a.enabled_end - i] = a.enabled[a.enabled_end - i - 1]
        a.enabled[at] = key
        a.enabled_end += 1


@kernel
def leave(a: RegionArguments, state: int, label: int) -> None:
    """Notes that a step to the outside counts for a label."""
    a.outside[a.outside_end] = state << LABEL_BITS | label
    a.outside_end += 1


@kernel
def list_edges(words: Static, a: RegionArguments) -> None:
    """Lists the edges of states a.low..a.high-1. Ends early, with a.low the next state, before a batch without room.

    If there is no room for a further label, a.low is -1, and what was listed is to be listed again.
    """
    width = 1 + a.actions
    row_words = a.model.row_words
    base = a.low
    while a.low < a.high and a.end < a.room and a.enabled_end < a.room and a.outside_end < a.room:
        first, n, k = a.low, 0, 0
        while a.low < a.high and n < BATCH and k < BATCH:
            end = expand_noting_clips(words, a, a.low, k, n)
            a.counts[k] = end - n
            n = end
            k += 1
            a.low += 1
        if a.tally[ERROR] != 0:
            return
        for row in range(n):
            slot = slot_of(words_at(words, a.successors, row * row_words), a.slots)
            a.slots_of[row] = slot
            prefetch(a.index, slot)
        for row in range(n):
            number = a.index[a.slots_of[row]]
            if number != 0:
                prefetch(a.known, (number - 1) * words)
        row = 0
        for j in range(k):
            state = first + j
            begin, begin_enabled = a.end, a.enabled_end
            own = words_at(words, a.rows, state * words)
            for _ in range(a.counts[j]):
                at = row * row_words
                after = words_at(words, a.successors, at)
                changed = False
                for c in range(words):
                    if after[c] != own[c]:
                        changed = True
                if changed:
                    label = label_of(words, a, action_of(words, a.successors, at), at)
                    if label < 0:
                        a.low = -1
                        return
                    slot = a.slots_of[row]
                    number = a.index[slot]
                    while number != 0 and not same_row(words, a.known, number - 1, a.successors, at):
                        slot = next_slot(slot, a.slots)
                        number = a.index[slot]
                    if number != 0:
                        a.edges[a.end] = number - 1 << LABEL_BITS | label
                        a.end += 1
                    elif label != 0:
                        leave(a, state, label)
                    if label != 0:
                        enable(a, begin_enabled, state, label)
                row += 1
            if a.clips[j * width] != 0:
                for action in range(a.actions):
                    if a.clips[j * width + 1 + action] > 0 and a.action_labels[action] != 0:
                        label = a.action_labels[action]
                        if label > 0:
                            leave(a, state, label)
                            enable(a, begin_enabled, state, label)
                        else:
                            leave(a, state, CLIPPED | action)
            a.degrees[state - base] = a.end - begin


@kernel
def same_row(words: Static, rows: Words, number: int, successors: Words, at: int) -> bool:
    """Whether a numbered state is the one that begins at an index of another array."""
    return all(rows[number * words + k] == successors[at + k] for k in range(words))


EXPORTED = (judge_rows, number_states, index_labels, list_edges)
