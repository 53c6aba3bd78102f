// Draws an action by the rule that bandit.rule().to_json() wrote: node rule_in_force.js RULE.json < PEOPLE.json
// The output has a line for each person: the number of the leaf, the action, and the probability of each action.
"use strict";
const fs = require("fs");

const signs = { "<=": (x, y) => x <= y, "<": (x, y) => x < y, ">": (x, y) => x > y, ">=": (x, y) => x >= y };

function holds(condition, person) {
  if (condition.all) return condition.all.every((part) => holds(part, person));
  if (condition.any) return condition.any.some((part) => holds(part, person));
  if (condition.not) return !holds(condition.not, person);
  const value = person[condition.column] ?? null;
  if (condition.in) return condition.in.includes(value);
  if (condition.not_in) return !condition.not_in.includes(value);
  return value === null ? condition.missing === true : signs[condition.sign](value, condition.cut);
}

function decide(rule, person, uniform) {
  const leaf = rule.leaves.find((each) => each.when.every((condition) => holds(condition, person)));
  let left = uniform;
  for (const [action, weight] of Object.entries(leaf.weights)) {
    left -= weight;
    if (left < 0) return [leaf.leaf, action, leaf.weights];
  }
  return [leaf.leaf, Object.keys(leaf.weights).at(-1), leaf.weights];
}

const rule = JSON.parse(fs.readFileSync(process.argv[2]));
const people = JSON.parse(fs.readFileSync(0));
for (const person of people) console.log(JSON.stringify(decide(rule, person, Math.random())));
