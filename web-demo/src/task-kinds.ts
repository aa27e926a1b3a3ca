import { tenths } from "./runner.js";

/** A kind of task that policies adapt to, and how it is shown. */
export interface TaskKind {
  headline: string;
  lead: string;
  /** The second sentence, where there is room. */
  more: string;
  /** The task to begin with. */
  task: number[];
  /** Milliseconds of a step. */
  pace: number;
  /** The name of its controls, all together. */
  control: string;
  /** Names of its numbers. */
  dims: string[];
  /** A number of the task in words. */
  unit(value: number): string;
}

const plain = (value: number): string => value.toFixed(2).replace("-", "−");
const GOAL = { control: "Goal", dims: ["across", "up"], unit: plain };

export const TASK_KINDS: Record<string, TaskKind> = {
  navigation: {
    headline: "Drag the goal.\nWho finds it?",
    lead: "None of the three can see it. Each is told only what its walk paid, and changes a little.",
    more: "One of them has practised exactly that.",
    task: [-0.35, 0.3],
    pace: 24,
    ...GOAL,
  },
  "point-robot": {
    headline: "Drag the goal.\nWho infers it?",
    lead: "None of them can see it: from what each step paid, they infer where it may be.",
    more: "Each dot is a place where one would go by a draw from its belief.",
    task: [0.6, 0.5],
    pace: 110,
    ...GOAL,
  },
  "half-cheetah-vel": {
    headline: "Turn the dial.\nWho keeps the pace?",
    lead: "Each is paid for running at a speed that nobody tells it, seen here twice as fast.",
    more: "Turn the dial while they run, and see who notices.",
    task: [1.5],
    pace: 25,
    control: "Asked speed",
    dims: ["Asked speed"],
    unit: (value) => `${tenths(value)} m/s`,
  },
  bandit: {
    headline: "Hide the best arm.\nWho finds it?",
    lead: "Five slot machines, ten pulls. Set how often each pays.",
    more: "Nothing in the networks changes: whoever finds the best arm does it by memory alone.",
    task: [0.1, 0.3, 0.4, 0.9, 0.2],
    pace: 450,
    control: "Pays",
    dims: ["Arm 1 pays", "Arm 2 pays", "Arm 3 pays", "Arm 4 pays", "Arm 5 pays"],
    unit: plain,
  },
};
