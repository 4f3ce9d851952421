"""The paper's tables, measured again and shown beside the printed numbers, as far as the available data allows."""

from ..report.html import Table
from ..runner import Outcome
from .cells import Findings
from .colon import further_table, synthetic_table
from .parts import ablation_table, coverage_table, time_table
from .real_data import hamlyn_table, scared_table, scared_test_table, servct_table


def paper_tables(outcome: Outcome, ablation: Outcome) -> list[Table]:
    """The tables, measured values beside the printed ones.

    Parameters
    ----------
    outcome : Outcome
        Result of the comparison that :func:`bdis.evaluation.paper.plans.paper_plans` planned.
    ablation : Outcome
        Result of the ablation.

    Returns
    -------
    list of Table
        Those for which there is data, in the order of the paper.
    """
    found = Findings.of(outcome)
    tables = [synthetic_table(found), scared_test_table(found), scared_table(found), servct_table(found)]
    tables += [hamlyn_table(found), coverage_table(found), ablation_table(Findings.of(ablation)), time_table(found)]
    tables.append(further_table(found))
    return [table for table in tables if table.rows]
