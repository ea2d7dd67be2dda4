"""The representative of a state's class under renaming of ids: the same for every state of the class.

Ids get colours: hashes of what a state says of each, which renaming does not change. They are sorted by colour. Where
colours are equal, every order of the equal ones is tried, and the least state is taken: whatever the hashes are, two
states have one representative only if a renaming leads from one to the other, and then they have. Ids that are
interchangeable in the state are left as they are.

`symmetry/renamings.py` writes the plan, an array of words: the numbers below, then for each cell (ids that may take
each other's names) its members from `CELLS` on, then entries of `ENTRY` words, one for each field, or for the slots of
a set of records. A field's *shape* is its number with each key of a map replaced by the first one.
"""

from __future__ import annotations

from reassure.checkers.engines.native.translator.language import (
    Static,
    Words,
    kernel,
    lowest,
    rare_kernel,
    words_from,
    wrap,
)

IDS, ROUNDS, CELL_COUNT, CELLS, ENTRY_COUNT, ENTRIES, PLACES = range(7)
"""Places in a plan: numbers of ids, of rounds, of cells; where the cells, the entries and the fields' places begin."""
KIND, FIELD, SHAPE, SORT, BITS, ITEM, COUNT, KEYS, KEY_COUNT, FLAG, ENTRY = range(11)
"""Places in an entry. SORT: the first id of its sort. BITS: a mask. ITEM: bits of an item of a sequence, or the first
entry of the records in a set. COUNT: items of a sequence, or slots of a set. KEYS: where the keys begin, each an id and
the number of fields between those of two neighbouring ids. FLAG: the field that is 0 where the entry's value is absent,
and stored as 0; -1 if there always is one."""
RECORD_ENTRIES = SORT
"""In an entry for slots: the number of entries of a record."""
PLAIN, ID, OPTION, SET, SEQUENCE, SLOTS, LIST = range(7)
"""Kinds of entries: none of the ids; an id; 0 or 1 + an id; a set of ids; a sequence of ids; a set of records; a
sequence of ids whose order is forgotten: its items are ascending in a representative."""

_MIX = -7046029254386353131
_FINISH = -4658895280553007687


@kernel
def mixed(a: int, b: int) -> int:
    """64 bits that depend on two numbers."""
    h = wrap((a ^ wrap(b * _MIX)) * _FINISH)
    return wrap((h ^ (h >> 29)) * _MIX)


@kernel
def is_there(plan: Words, entry: int, row: Words) -> bool:
    """Whether an entry's value is not absent."""
    flag = plan[entry + FLAG]
    if flag < 0:
        return True
    place = plan[PLACES] + 2 * flag
    return (row[plan[place]] >> plan[place + 1]) & 1 != 0


@kernel
def is_in_record(plan: Words, entry: int, record: int) -> bool:
    """The same of an entry of a packed record."""
    flag = plan[entry + FLAG]
    if flag < 0:
        return True
    return (record >> plan[plan[PLACES] + 2 * flag + 1]) & 1 != 0


# -- renaming ----------------------------------------------------------------------------------------------------------


@kernel
def renamed_field(plan: Words, entry: int, names: Words) -> int:
    """The field that holds an entry's value after the ids got other names: that of the renamed keys."""
    field = plan[entry + FIELD]
    keys = plan[entry + KEYS]
    for k in range(plan[entry + KEY_COUNT]):
        key = plan[keys + 2 * k]
        field += (names[key] - key) * plan[keys + 2 * k + 1]
    return field


@rare_kernel
def renamed_list(value: int, item: int, count: int, sort: int, names: Words) -> int:
    """A sequence in no order after the ids got other names, ascending."""
    length, mask, result = value >> (item * count), (1 << item) - 1, 0
    for p in range(length):
        one = names[sort + ((value >> (p * item)) & mask)] - sort
        at = p
        while at > 0 and ((result >> ((at - 1) * item)) & mask) > one:
            at -= 1
        below = result & ((1 << (at * item)) - 1)
        result = below | (one << (at * item)) | ((result ^ below) << item)
    return result | length << (item * count)


@rare_kernel
def renamed_value(plan: Words, entry: int, value: int, names: Words) -> int:
    """A stored number after the ids got other names."""
    kind, sort = plan[entry + KIND], plan[entry + SORT]
    if kind == ID:
        return names[sort + value] - sort
    if kind == OPTION and value != 0:
        return names[sort + value - 1] - sort + 1
    result = 0
    if kind == SET:
        while value != 0:
            result |= 1 << (names[sort + lowest(value)] - sort)
            value &= value - 1
        return result
    if kind == SEQUENCE:
        item = plan[entry + ITEM]
        room = item * plan[entry + COUNT]
        length = value >> room
        result = length << room
        for p in range(length):
            one = (value >> (p * item)) & ((1 << item) - 1)
            result |= (names[sort + one] - sort) << (p * item)
        return result
    if kind == LIST:
        return renamed_list(value, plan[entry + ITEM], plan[entry + COUNT], sort, names)
    return value


@kernel
def renamed_record(plan: Words, first: int, count: int, record: int, names: Words) -> int:
    """A packed record after the ids got other names."""
    result, places = 0, plan[PLACES]
    for n in range(count):
        entry = first + n * ENTRY
        value = (record >> plan[places + 2 * plan[entry + FIELD] + 1]) & plan[entry + BITS]
        below = plan[places + 2 * renamed_field(plan, entry, names) + 1]
        if is_in_record(plan, entry, record):
            result |= renamed_value(plan, entry, value, names) << below
    return result


@rare_kernel
def rename_slots(plan: Words, entry: int, row: Words, names: Words, result: Words, slots: Words) -> None:
    """Renames a set of records: its slots stay in descending order."""
    places = plan[PLACES]
    count, n = plan[entry + COUNT], 0
    for k in range(count):
        place = places + 2 * (plan[entry + FIELD] + k)
        slot = (row[plan[place]] >> plan[place + 1]) & plan[entry + BITS]
        if slot != 0:
            slot = 1 + renamed_record(plan, plan[entry + ITEM], plan[entry + RECORD_ENTRIES], slot - 1, names)
            at = n
            while at > 0 and slots[at - 1] < slot:
                slots[at] = slots[at - 1]
                at -= 1
            slots[at] = slot
            n += 1
    field = renamed_field(plan, entry, names)
    for k in range(n):
        place = places + 2 * (field + k)
        result[plan[place]] |= wrap(slots[k] << plan[place + 1])


@rare_kernel
def rename(words: Static, plan: Words, row: Words, names: Words, result: Words, slots: Words) -> None:
    """Writes the state in which each id has the name that `names` gives it."""
    for k in range(words):
        result[k] = 0
    places = plan[PLACES]
    for n in range(plan[ENTRY_COUNT]):
        entry = plan[ENTRIES] + n * ENTRY
        if plan[entry + KIND] == SLOTS:
            rename_slots(plan, entry, row, names, result, slots)
        elif is_there(plan, entry, row):
            place = places + 2 * plan[entry + FIELD]
            value = (row[plan[place]] >> plan[place + 1]) & plan[entry + BITS]
            place = places + 2 * renamed_field(plan, entry, names)
            result[plan[place]] |= wrap(renamed_value(plan, entry, value, names) << plan[place + 1])


# -- colours -----------------------------------------------------------------------------------------------------------


@kernel
def tell_keys(plan: Words, entry: int, fact: int, after: Words) -> None:
    """Adds a fact to the colours of an entry's keys."""
    keys = plan[entry + KEYS]
    for k in range(plan[entry + KEY_COUNT]):
        key = plan[keys + 2 * k]
        after[key] = wrap(after[key] + mixed(fact, k + 1))


@kernel
def told_by_keys(plan: Words, entry: int, colours: Words) -> int:
    """A number for a field's shape and its keys, whatever their names are."""
    told, keys = mixed(plan[entry + SHAPE], 1), plan[entry + KEYS]
    for k in range(plan[entry + KEY_COUNT]):
        told = wrap(told + mixed(colours[plan[keys + 2 * k]], k + 2))
    return told


@kernel
def mention(plan: Words, entry: int, told: int, one: int, colours: Words, after: Words, outer: int, adds: bool) -> int:
    """The fact that an entry mentions an id. adds: to the colours of this id and the keys, as a part of `outer`."""
    fact = mixed(told, colours[one])
    if adds:
        whole = wrap(fact + outer)
        after[one] = wrap(after[one] + mixed(whole, 0))
        tell_keys(plan, entry, whole, after)
    return fact


@rare_kernel
def facts(plan: Words, entry: int, value: int, colours: Words, after: Words, outer: int, adds: bool) -> int:
    """The sum of what an entry's value says of ids. adds: as of `mention`."""
    kind, sort, told = plan[entry + KIND], plan[entry + SORT], told_by_keys(plan, entry, colours)
    total = 0
    if kind == PLAIN or (kind == OPTION and value == 0):
        total = mixed(told, value)
        if adds:
            tell_keys(plan, entry, wrap(total + outer), after)
    elif kind == SET:
        while value != 0:
            one = sort + lowest(value)
            total = wrap(total + mention(plan, entry, told, one, colours, after, outer, adds))
            value &= value - 1
    elif kind == SEQUENCE:
        item = plan[entry + ITEM]
        for p in range(value >> (item * plan[entry + COUNT])):
            one = sort + ((value >> (p * item)) & ((1 << item) - 1))
            total = wrap(total + mention(plan, entry, mixed(told, p), one, colours, after, outer, adds))
    elif kind == LIST:
        item = plan[entry + ITEM]
        for p in range(value >> (item * plan[entry + COUNT])):
            one = sort + ((value >> (p * item)) & ((1 << item) - 1))
            total = wrap(total + mention(plan, entry, told, one, colours, after, outer, adds))
    else:
        one = sort + value - (1 if kind == OPTION else 0)
        total = mention(plan, entry, told, one, colours, after, outer, adds)
    return total


@rare_kernel
def facts_of_slots(plan: Words, entry: int, row: Words, colours: Words, after: Words) -> None:
    """Adds what a set of records says of ids to their colours: of each record, the whole."""
    places, told = plan[PLACES], told_by_keys(plan, entry, colours)
    for k in range(plan[entry + COUNT]):
        place = places + 2 * (plan[entry + FIELD] + k)
        slot = (row[plan[place]] >> plan[place + 1]) & plan[entry + BITS]
        if slot != 0:
            whole = told
            for turn in range(2):
                adds = turn == 1
                for n in range(plan[entry + RECORD_ENTRIES]):
                    inner = plan[entry + ITEM] + n * ENTRY
                    if is_in_record(plan, inner, slot - 1):
                        value = ((slot - 1) >> plan[places + 2 * plan[inner + FIELD] + 1]) & plan[inner + BITS]
                        fact = facts(plan, inner, value, colours, after, whole, adds)
                        whole = whole if adds else wrap(whole + fact)
            tell_keys(plan, entry, whole, after)


@rare_kernel
def colour(plan: Words, row: Words, rounds: int, colours: Words, after: Words) -> None:
    """Colours the ids by all that the state says of them; in a further round, with the colours of other ids."""
    ids, places = plan[IDS], plan[PLACES]
    for one in range(ids):
        colours[one] = 0
    at = plan[CELLS]
    for cell in range(plan[CELL_COUNT]):
        for k in range(plan[at]):
            colours[plan[at + 1 + k]] = mixed(cell, 7)
        at += 1 + plan[at]
    for turn in range(rounds):
        for one in range(ids):
            after[one] = 0
        for n in range(plan[ENTRY_COUNT]):
            entry = plan[ENTRIES] + n * ENTRY
            if plan[entry + KIND] == SLOTS:
                facts_of_slots(plan, entry, row, colours, after)
            elif is_there(plan, entry, row):
                place = places + 2 * plan[entry + FIELD]
                value = (row[plan[place]] >> plan[place + 1]) & plan[entry + BITS]
                facts(plan, entry, value, colours, after, 0, True)
        for one in range(ids):
            colours[one] = mixed(colours[one], wrap(after[one] + turn))


# -- the representative ------------------------------------------------------------------------------------------------


@kernel
def less(words: Static, a: Words, b: Words) -> int:
    """-1, 0 or 1: whether one state is less than, is, or is more than another; words compared as signed numbers."""
    result = 0
    for k in range(words):
        if result == 0 and a[k] != b[k]:
            result = -1 if a[k] < b[k] else 1
    return result


@rare_kernel
def sort_cells(plan: Words, colours: Words, ordered: Words) -> None:
    """Writes into each place of a cell the member that comes there by its colour."""
    at = plan[CELLS]
    for one in range(plan[IDS]):
        ordered[one] = one
    for _cell in range(plan[CELL_COUNT]):
        first = at + 1
        for k in range(1, plan[at]):
            one = plan[first + k]
            j = k
            while j > 0 and colours[ordered[plan[first + j - 1]]] > colours[one]:
                ordered[plan[first + j]] = ordered[plan[first + j - 1]]
                j -= 1
            ordered[plan[first + j]] = one
        at = first + plan[at]


@rare_kernel
def next_order(members: Words, names: Words, count: int) -> bool:
    """The next order of the names of so many ids, ascending at first; False after the last, ascending again."""
    i = count - 1
    while i > 0 and names[members[i - 1]] > names[members[i]]:
        i -= 1
    low, high = i, count - 1
    while low < high:  # what descends comes to ascend
        kept = names[members[low]]
        names[members[low]] = names[members[high]]
        names[members[high]] = kept
        low += 1
        high -= 1
    if i == 0:
        return False
    j = i
    while names[members[j]] < names[members[i - 1]]:
        j += 1
    kept = names[members[i - 1]]
    names[members[i - 1]] = names[members[j]]
    names[members[j]] = kept
    return True


@rare_kernel
def interchangeable(
    words: Static, plan: Words, members: Words, count: int, row: Words, names: Words, other: Words, slots: Words
) -> bool:
    """Whether any two of these ids may change places in a state. names: each id's own."""
    for k in range(1, count):
        a, b = members[k - 1], members[k]
        names[a] = b
        names[b] = a
        rename(words, plan, row, names, other, slots)
        names[a] = a
        names[b] = b
        if less(words, row, other) != 0:
            return False
    return True


@rare_kernel
def tied_groups(
    words: Static, plan: Words, row: Words, colours: Words, names: Words, groups: Words, other: Words, slots: Words
) -> int:
    """Collects the groups of ids of one colour that are not interchangeable: behind each other, each after its size.

    The group that ends them has size 0. Returns how many renamings of interchangeable ids leave the state as it is.
    colours: by place. names: each id's own.
    """
    at, end, same = plan[CELLS], 0, 1
    for _cell in range(plan[CELL_COUNT]):
        first, size = at + 1, plan[at]
        k = 0
        while k < size:
            count = 1
            while k + count < size and colours[plan[first + k + count]] == colours[plan[first + k]]:
                count += 1
            if count > 1:
                if interchangeable(words, plan, words_from(plan, first + k), count, row, names, other, slots):
                    for j in range(2, count + 1):
                        same *= j
                else:
                    groups[end] = count
                    for j in range(count):
                        groups[end + 1 + j] = plan[first + k + j]
                    end += 1 + count
            k += count
        at = first + size
    groups[end] = 0
    return same


@rare_kernel
def try_all(
    words: Static, plan: Words, row: Words, names: Words, groups: Words, best: Words, other: Words, slots: Words
) -> int:
    """Takes the least state of all orders of the groups; returns how many of them give it. row: gets the state."""
    for k in range(words):
        best[k] = row[k]
    found, going = 0, True
    while going:
        rename(words, plan, row, names, other, slots)
        order = less(words, other, best)
        if order < 0:
            found = 0
            for k in range(words):
                best[k] = other[k]
        if order <= 0:
            found += 1
        at, going = 0, False
        while groups[at] != 0 and not going:
            going = next_order(words_from(groups, at + 1), names, groups[at])
            at += 1 + groups[at]
    for k in range(words):
        row[k] = best[k]
    return found


@rare_kernel
def canonical(words: Static, plan: Words, row: Words, scratch: Words) -> int:
    """Puts the representative of a state's class in its place; returns how many renamings leave it as it is.

    scratch: as many words as `scratch_words` says.
    """
    ids = plan[IDS]
    colours, after, names = scratch, words_from(scratch, ids), words_from(scratch, 2 * ids)
    ordered, groups = words_from(scratch, 3 * ids), words_from(scratch, 4 * ids)
    best, other = words_from(scratch, 6 * ids + 1), words_from(scratch, 6 * ids + 1 + words)
    slots = words_from(scratch, 6 * ids + 1 + 2 * words)
    colour(plan, row, plan[ROUNDS], colours, after)
    sort_cells(plan, colours, ordered)
    for place in range(ids):
        names[ordered[place]] = place
        after[place] = colours[ordered[place]]
    rename(words, plan, row, names, other, slots)
    for k in range(words):
        row[k] = other[k]
    for one in range(ids):
        names[one] = one
    same = tied_groups(words, plan, row, after, names, groups, other, slots)
    if groups[0] != 0:
        same *= try_all(words, plan, row, names, groups, best, other, slots)
    return same


@rare_kernel
def all_differ(plan: Words, row: Words, scratch: Words) -> bool:
    """Whether one round tells all ids of a cell apart, of every cell: then no renaming leaves the state as it is."""
    ids = plan[IDS]
    colour(plan, row, 1, scratch, words_from(scratch, ids))
    at = plan[CELLS]
    for _cell in range(plan[CELL_COUNT]):
        for k in range(1, plan[at]):
            for j in range(k):
                if scratch[plan[at + 1 + k]] == scratch[plan[at + 1 + j]]:
                    return False
        at += 1 + plan[at]
    return True


@kernel
def scratch_words(words: int, ids: int, slots: int) -> int:
    """Words that `canonical` writes to. slots: of the largest set of records."""
    return 6 * ids + 1 + 2 * words + slots


@kernel
def canonical_rows(
    words: Static, plan: Words, rows: Words, low: int, high: int, row_words: int, scratch: Words
) -> None:
    """Puts the representatives in the place of the states that rows low..high-1 begin with."""
    for i in range(low, high):
        canonical(words, plan, words_from(rows, i * row_words), scratch)


@kernel
def canonical_stabilisers(words: Static, plan: Words, rows: Words, count: int, same: Words, scratch: Words) -> None:
    """Writes for each state how many renamings leave it as it is. The states are representatives, and stay."""
    for i in range(count):
        row = words_from(rows, i * words)
        same[i] = 1 if all_differ(plan, row, scratch) else canonical(words, plan, row, scratch)


EXPORTED = (canonical_rows, canonical_stabilisers)
