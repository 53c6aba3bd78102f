#!/usr/bin/env bash
# Who should be paid to learn the result of an HIV test? A log of a randomised trial in Malawi (Thornton 2008; the
# outcome is whether people came for it), and the best tree for each budget: a report in runs/hiv_incentives.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/environment.sh
prepare studies,learn,data
mkdir -p runs
say "writing the log: runs/hiv_incentives.csv (without those of whom it is not known whether they came)"
python - <<'PYTHON'
from causaldata import thornton_hiv

log = thornton_hiv.load_pandas().data.dropna(subset=["any", "got"])
log["paid"] = log["any"].map({0.0: "nothing", 1.0: "an incentive"})
log[["villnum", "distvct", "age", "paid", "got"]].to_csv("runs/hiv_incentives.csv", index=False)
PYTHON
say "milpcb learn: the best tree where an incentive costs as much as 0.2 results, and the value of each budget"
milpcb learn runs/hiv_incentives.csv --action paid --reward got --out runs/hiv_incentives --features distvct,age \
    --treatment-cost "an incentive=0.2" --budget "an incentive" --randomised
say "done: open $PWD/runs/hiv_incentives/report.html"
