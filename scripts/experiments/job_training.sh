#!/usr/bin/env bash
# Whom to train? A log of a randomised trial of job training (LaLonde 1986; 445 men, earnings in dollars of 1978), and
# what the best tree of depth 2 is worth: a report in runs/job_training. About a minute.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/environment.sh
prepare studies,learn,data
mkdir -p runs
say "writing the log: runs/job_training.csv"
python -c "from causaldata import nsw_mixtape as d; d.load_pandas().data.to_csv('runs/job_training.csv', index=False)"
say "milpcb learn: the best tree, what can be claimed of it, and the report"
milpcb learn runs/job_training.csv --action treat --reward re78 --randomised --out runs/job_training \
    --features age,educ,black,hisp,marr,nodegree,re74,re75
say "done: open $PWD/runs/job_training/report.html"
