"""Kernels for properties about whole runs: states are judged, and the graph of a region is listed.

The states of a region are numbered, those of a bucket one after the other; no loop goes through two buckets
(`liveness.buckets`). An edge is one word, `number << LABEL_BITS | label`: the state that a step leads to, and which
fairness constraint the step counts for, 0 for none. Steps that change nothing and those to another bucket are left
out. Those to the outside are listed by themselves, as far as they count for something.
"""

from __future__ import annotations

from collections.abc import Callable

from reassure.checkers.engines.native.kernels.model_code import ACTIONS_AT, CLIPS_TOTAL, ERROR, ModelCode, action_of
from reassure.checkers.engines.native.kernels.state_table import BATCH, next_slot, slot_of, words_at
from reassure.checkers.engines.native.translator.language import (
    Static,
    Words,
    kernel,
    prefetch,
    scaled,
    words_from,
    wrap,
)
from reassure.spec.language.light_dataclasses import dataclass

LABEL_BITS = 24
MOST_LABELS = (1 << LABEL_BITS) - 1
CLIPPED = 1 << LABEL_BITS - 1
"""Of a label of a step to the outside: not a constraint, but an action of which a step left a bound."""

JudgeText = Callable[[Words, Words, int], int]
"""(state, tally, row number) -> what holds of a state, by bit."""

AHEAD = 32
"""States whose slots are on their way to the cache while one is noted."""
SPREAD = 2
"""Slots of an index for each state."""
UNCHANGED, RISES, FALLS = -1, -2, -3
"""In place of a slot, of a step: it changes nothing; it leads to a later bucket, or to an earlier one."""
RANK_WORDS = 4
"""Words of a field in a ranking: word, shift, mask, and -1 if steps lower it, else 1."""
_MIX = -7046029254386353131


@dataclass
class JudgeArguments:
    """States, and the function that judges them."""

    judge: JudgeText
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
def bucket_begin(ends: Words, bucket: int) -> int:
    """The first state of a bucket."""
    return ends[bucket - 1] if bucket > 0 else 0


@kernel
def first_slot(words: Static, array: Words, at: int, begin: int, end: int) -> int:
    """The slot where the state at an index of an array is looked for first, its bucket having states begin..end-1."""
    return begin * SPREAD + slot_of(words_at(words, array, at), (end - begin) * SPREAD)


@kernel
def number_states(words: Static, rows: Words, ends: Words, buckets: int, index: Words) -> None:
    """Notes by slot 1 + the number of each state; the states are distinct, the index is empty.

    ends: by bucket, where its states end. index: of `SPREAD` slots for each state.
    """
    slots = bucket_begin(ends, buckets) * SPREAD
    for bucket in range(buckets):
        begin, end = bucket_begin(ends, bucket), ends[bucket]
        for i in range(begin, end):
            if i + AHEAD < end:
                prefetch(index, first_slot(words, rows, (i + AHEAD) * words, begin, end))
            slot = first_slot(words, rows, i * words, begin, end)
            while index[slot] != 0:
                slot = next_slot(slot, slots)
            index[slot] = i + 1


@kernel
def keep_staying(
    words: Static, rows: Words, verdicts: Words, count: int, claims: Words, claim_count: int, kept_rows: Words
) -> int:
    """Copies the rows whose verdicts have none of the bits of some claim; how many there are."""
    kept = 0
    for i in range(count):
        stays = False
        for claim in range(claim_count):
            if verdicts[i] & claims[claim] == 0:
                stays = True
        if stays:
            for k in range(words):
                kept_rows[kept * words + k] = rows[i * words + k]
            kept += 1
    return kept


@dataclass
class BucketArguments:
    """Buckets that states are put into; there is room for a bucket for `SPREAD` slots."""

    masks: Words
    """By word of a state: the bits that are the same in a bucket."""
    index: Words
    """By slot: 1 + the number of a bucket."""
    slots: int
    first: Words
    """By bucket: the masked words of its states."""
    sizes: Words
    """By bucket: how many states it has; then where its next state is put."""
    buckets: int
    """How many there are."""


@kernel
def index_buckets(words: Static, a: BucketArguments) -> None:
    """Notes the buckets in an index that is empty."""
    for bucket in range(a.buckets):
        slot = bucket_slot(words, a, a.first, bucket)
        while a.index[slot] != 0:
            slot = next_slot(slot, a.slots)
        a.index[slot] = bucket + 1


@kernel
def bucket_slot(words: Static, a: BucketArguments, rows: Words, i: int) -> int:
    """The slot where the bucket of a state is looked for first."""
    h = 0
    for k in range(words):
        h = mixed(h, rows[i * words + k] & a.masks[k])
    return scaled(h, a.slots)


@kernel
def bucket_states(words: Static, a: BucketArguments, rows: Words, begin: int, count: int, bucket_of: Words) -> int:
    """Finds the buckets of states from `begin` on, and counts them; the state before which there is no more room."""
    for i in range(begin, count):
        slot = bucket_slot(words, a, rows, i)
        while a.index[slot] != 0 and not same_masked(words, a, a.index[slot] - 1, rows, i):
            slot = next_slot(slot, a.slots)
        if a.index[slot] == 0:
            if a.buckets * SPREAD >= a.slots:
                return i
            for k in range(words):
                a.first[a.buckets * words + k] = rows[i * words + k] & a.masks[k]
            a.sizes[a.buckets] = 0
            a.buckets += 1
            a.index[slot] = a.buckets
        bucket = a.index[slot] - 1
        bucket_of[i] = bucket
        a.sizes[bucket] += 1
    return count


@kernel
def same_masked(words: Static, a: BucketArguments, bucket: int, rows: Words, i: int) -> bool:
    """Whether a state is in a bucket."""
    return all(rows[i * words + k] & a.masks[k] == a.first[bucket * words + k] for k in range(words))


@kernel
def place_states(words: Static, places: Words, rows: Words, bucket_of: Words, count: int, to: Words) -> None:
    """Puts each state into its bucket, of which `places` has the next place."""
    for i in range(count):
        place = places[bucket_of[i]]
        places[bucket_of[i]] = place + 1
        for k in range(words):
            to[place * words + k] = rows[i * words + k]


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
    bucket: int
    """The bucket of state `low`, or an earlier one."""
    ends: Words
    """By bucket."""
    ranking: Words
    """Fields, `RANK_WORDS` each: steps move the first of them that they change one way only."""
    ranks: int
    """How many fields."""
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
    """By action: what the tally says of it, as of now."""
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
    end = a.model.expand(words_from(a.rows, i * words), a.successors, n, a.tally, i)
    for row in range(n, end):
        a.before[action_of(words, a.successors, row * a.model.row_words)] += 1
    a.clips[k * width] = 0
    if a.tally[CLIPS_TOTAL] != clips:
        a.clips[k * width] = 1
        for action in range(a.actions):
            a.clips[k * width + 1 + action] = a.tally[ACTIONS_AT + action] - a.before[action]
            a.before[action] = a.tally[ACTIONS_AT + action]
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
def rank_move(words: Static, a: RegionArguments, state: int, at: int) -> int:
    """How the step in a successor row moves the fields of the ranking: `UNCHANGED`, `RISES`, `FALLS`; 0: not at all."""
    changed = False
    for k in range(words):
        if a.successors[at + k] != a.rows[state * words + k]:
            changed = True
    if not changed:
        return UNCHANGED
    for rank in range(a.ranks):
        field = rank * RANK_WORDS
        word, shift, mask = a.ranking[field], a.ranking[field + 1], a.ranking[field + 2]
        rise = (a.successors[at + word] >> shift & mask) - (a.rows[state * words + word] >> shift & mask)
        if rise != 0:
            return RISES if rise * a.ranking[field + 3] > 0 else FALLS
    return 0


@kernel
def slot_after(words: Static, a: RegionArguments, state: int, at: int) -> int:
    """The slot where the state of a successor row is looked for first; or what takes its place: `UNCHANGED`, ..."""
    move = rank_move(words, a, state, at)
    if move != 0:
        return move
    return first_slot(words, a.successors, at, bucket_begin(a.ends, a.bucket), a.ends[a.bucket])


@kernel
def list_edges(words: Static, a: RegionArguments) -> None:
    """Lists the edges of states a.low..a.high-1. Ends early, with a.low the next state, before a batch without room.

    If there is no room for a further label, a.low is -1, and what was listed is to be listed again; if a step leads to
    an earlier bucket, a.low is `FALLS`, and `high` its state.
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
        row = 0
        for j in range(k):
            state = first + j
            while a.ends[a.bucket] <= state:
                a.bucket += 1
            for _ in range(a.counts[j]):
                slot = slot_after(words, a, state, row * row_words)
                a.slots_of[row] = slot
                if slot >= 0:
                    prefetch(a.index, slot)
                elif slot == FALLS:
                    a.low = FALLS
                    a.high = state
                    return
                row += 1
        for row in range(n):
            if a.slots_of[row] >= 0:
                number = a.index[a.slots_of[row]]
                if number != 0:
                    prefetch(a.known, (number - 1) * words)
        row = 0
        for j in range(k):
            state = first + j
            begin, begin_enabled = a.end, a.enabled_end
            for _ in range(a.counts[j]):
                at = row * row_words
                slot = a.slots_of[row]
                if slot != UNCHANGED:
                    label = label_of(words, a, action_of(words, a.successors, at), at)
                    if label < 0:
                        a.low = -1
                        return
                    if slot != RISES:
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


EXPORTED = (
    judge_rows,
    number_states,
    keep_staying,
    index_buckets,
    bucket_states,
    place_states,
    index_labels,
    list_edges,
)
