"""`reassure check`: every reachable state of a model, and what is true of them."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import replace
from pathlib import Path

from reassure.checkers.check import CheckRequest
from reassure.checkers.check import run as search
from reassure.checkers.console.commands import SEARCH_FIGURES, GateKind, Record, search_figures
from reassure.checkers.console.parser import search_options, spark_settings
from reassure.checkers.console.report import report_result, run_and_report
from reassure.checkers.machine.exit_codes import VERDICTS, Exit, Failure, worst
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.options import EXHAUSTIVE_ENGINES
from reassure.checkers.request.prepare import prepare
from reassure.checkers.request.shared_options import CHECK, OF_SPARK, pairs
from reassure.checkers.traces.format_value import NAMES, always, as_written

OPTIONS = CHECK
WITHOUT_FAIR_RUN, RESTING_ON_BOUNDS = "without_fair_run", "resting_on_bounds"


def _figures(record: Record) -> dict[str, int]:
    """The counts of a search; the states of premises that are in no fair run within the bounds; the properties that
    hold as steps of fair actions leave a bound.
    """
    premises = [p["premise"] for p in record["properties"] if "premise" in p]
    return {
        **search_figures(record),
        WITHOUT_FAIR_RUN: sum(p[WITHOUT_FAIR_RUN] for p in premises),
        RESTING_ON_BOUNDS: sum(p["rests_on_a_bound"] for p in premises),
    }


KIND = GateKind(
    (*SEARCH_FIGURES, WITHOUT_FAIR_RUN, RESTING_ON_BOUNDS),
    _figures,
    seldom=frozenset({WITHOUT_FAIR_RUN, RESTING_ON_BOUNDS}),
    left_out=frozenset({*OF_SPARK, "dump_kernel", "fail_fast", "follow", "jar", "invariant", "step"}),
    only=(("engine", EXHAUSTIVE_ENGINES),),
    decides=True,
)


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Searches, reports, and writes what is asked for."""
    if args.json and (args.follow or args.dump_kernel):
        option = "--follow" if args.follow else "--dump-kernel"
        raise Failure(Exit.USAGE, f"{option} writes no record: leave out --json")
    if args.follow:
        from reassure.checkers.console.follow import follow

        words = [word for word in shlex.split(args.repro)[1:] if word != "--follow"]
        return Exit(follow(args.model, words, console))
    if args.dump_kernel:
        if args.symmetry != "off":
            raise Failure(Exit.USAGE, "--dump-kernel prints the kernel of the whole search: leave out --symmetry")
        return dump_kernel(args, console)
    if args.resume and not args.out:
        _as_begun(args)
    traces = args.stories != 0 or args.full or bool(args.trace_dir or args.second_opinion)
    request = CheckRequest(
        args.model,
        args.set,
        args.engine,
        search_options(args, traces=traces),
        args.accept_clipping,
        cluster=spark_settings(args),
        second_opinion=args.second_opinion,
        jar=args.jar,
    )
    if args.jar and not args.second_opinion:
        raise Failure(Exit.USAGE, "--jar is for --second-opinion")
    if args.invariant or args.step:
        return check_expressions(request, args, console)
    if args.second_opinion:
        if args.symmetry != "off":
            raise Failure(Exit.USAGE, "--second-opinion compares whole searches: leave out --symmetry")
        return check_twice(request, args, console)
    return run_and_report(request, args, console).exit()


def check_expressions(request: CheckRequest, args: argparse.Namespace, console: Console) -> Exit:
    """Checks expressions of the command line in place of the model's claims."""
    if args.second_opinion or args.engine == "spark":
        raise Failure(Exit.USAGE, "--invariant and --step are for the engines native and reference")
    with always(args.invariant, args.step) as expressions:
        options = replace(request.options, properties=[*expressions.texts, *args.property])
        request = replace(request, options=options, expressions=expressions)
        try:
            return run_and_report(request, args, console).exit()
        except Failure as failure:
            if (text := as_written(str(failure))) == str(failure):
                raise
            raise Failure(Exit.USAGE, f"{text}; {NAMES}" if "is not defined" in text else text) from None


def _as_begun(args: argparse.Namespace) -> None:
    """Continues a run with what it was begun with, as its folder says, wherever the command line says nothing else."""
    from reassure.checkers.engines.spark.run_directory import RunDirectory

    begun = RunDirectory.at(args.resume).identity()
    args.engine = "spark"
    args.set = args.set or pairs(begun.config)
    args.property = args.property or list(begun.asked)
    args.no_data = args.no_data or not begun.steps
    args.fingerprints = args.fingerprints or bool(begun.fingerprints)


def check_twice(request: CheckRequest, args: argparse.Namespace, console: Console) -> Exit:
    """Searches, lets TLC search the same model as TLA+, and reports what both say."""
    from reassure.checkers.tla.second_opinion import ask_tlc, opinion_lines
    from reassure.checkers.tla.tlc import TlcInstallation

    tlc = TlcInstallation.find(Path(args.jar) if args.jar else None)
    result, bound = search(request, Progress(quiet=args.quiet))
    with Progress(quiet=args.quiet) as progress:
        opinion = ask_tlc(result, bound, request.options, tlc, progress)
    code = worst([result.exit(), opinion.exit()])
    keys = {"second_opinion": opinion.record()}
    report_result(result, bound, args, console, keys if code is result.exit() else keys | code_keys(code))
    for line in opinion_lines(opinion):
        console.print(line, markup=False, highlight=False)
    return code


def code_keys(code: Exit) -> dict[str, str | int]:
    """The keys of a record that have an exit code."""
    return {"verdict": VERDICTS[code], "exit_code": code.value}


def dump_kernel(args: argparse.Namespace, console: Console) -> Exit:
    """Prints the LLVM IR of the model's functions, which the native engine compiles."""
    from reassure.checkers.engines.native.model.model_kernel import kernel_listing

    console.judges = False
    console.print(kernel_listing(prepare(args.model, args.set).lowered))
    return Exit.OK
