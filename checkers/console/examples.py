"""Command lines that show what a command is for, printed below its help."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[str, ...]] = {
    "models": ("reassure models", "reassure models core", "reassure models my_idea.py"),
    "check": (
        "reassure check my_idea.py --set clients=3",
        "reassure check my_idea.py --invariant 'len(s.using) <= 1'",
        "reassure check core --set brokers=6 --engine spark --out runs/core6",
    ),
    "simulate": ("reassure simulate my_idea.py --walks 100000 --depth 200",),
    "prove": (
        "reassure prove my_idea.py --property one_at_a_time --certificate proof.json",
        "reassure prove core --any-number",
    ),
    "verify": ("reassure verify proof.json --model my_idea.py",),
    "guards": ("reassure guards my_idea.py --property one_at_a_time",),
    "mutants": ("reassure mutants my_idea.py --max 40",),
    "fairness": ("reassure fairness my_idea.py",),
    "diff": ("reassure diff my_idea.py my_change.py",),
    "find": ("reassure find my_idea.py 's.holder is None and len(s.using) == 1'",),
    "stuck": ("reassure stuck my_idea.py --property everybody_is_served",),
    "sweep": ("reassure sweep my_idea.py --set clients=2,3,4",),
    "traces": ("reassure traces my_idea.py --cover guards --out suite",),
    "replay": ("reassure replay traces/my_idea--one_at_a_time.itf.json --model my_idea.py",),
    "show": ("reassure show traces/my_idea--one_at_a_time.itf.json --model my_idea.py --format html --out run.html",),
    "explore": ("reassure explore my_idea.py", "reassure explore my_idea.py --out my_idea.html"),
    "graph": ("reassure graph my_idea.py --by s.holder --out holders.html",),
    "lint": ("reassure lint my_idea.py",),
    "new": ("reassure new my_idea",),
    "query": ("reassure query runs/core6 'select * from levels'",),
    "export": ("reassure export my_idea.py --to tla --out tla",),
    "validate": ("reassure validate my_idea.py observed.jsonl --hidden 'lose,crash'",),
    "audit": ("reassure audit __cluster_metadata-0 --html audit.html",),
    "plan": ("reassure plan --cluster cluster.json --current current.json --proposed proposed.json",),
    "claims": ("reassure claims K9", "reassure claims --format html > claims.html"),
    "gate": ("reassure gate --changed", "reassure gate gate.toml --update"),
    "completion": ('eval "$(reassure completion bash)"', "reassure completion fish | source"),
}
