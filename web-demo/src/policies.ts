import { createSession, loadPolicy, type AlgorithmName, type Policy } from "quickstudy";
import type { Who } from "./look.js";

/** A policy to compare, and how it was made. */
export interface Contestant {
  who: Who;
  name: string;
  about: string;
  /** The command that made it. */
  command: string | undefined;
  policy: Policy;
}

interface Shipped {
  who: Who;
  name: string;
  about: string;
  file: string;
  command: string;
}

interface Line {
  algorithm: AlgorithmName;
  about: string;
  shipped: Shipped[];
}

/** The settings that the shipped policies of `navigation` were trained with, where the preset has others today. */
const NAVIGATION =
  "--set meta_batch=20 --set gamma=0.99 --set outer_steps=5 --set clip_eps=0.3 --set inner_kl_coef=0.01 --set " +
  "learning_rate=2e-3";

/** The policies that are compared in each environment. Their commands made the files in `public/policies`. */
const LINES: Record<string, Line> = {
  navigation: {
    algorithm: "promp",
    about: "It has never acted before.",
    shipped: [
      {
        who: "one-task",
        name: "One task",
        about: "It learnt the way to a single goal, and nothing about other goals.",
        file: "navigation-one-task",
        command: `quickstudy train promp --env navigation --seed 1 --steps 2M --set train_tasks=1 ${NAVIGATION}`,
      },
      {
        who: "meta",
        name: "Meta-trained",
        about:
          "It learnt to learn: it practised finding 2,000 different goals, so that a few tries tell it where to go.",
        file: "navigation-meta",
        command: `quickstudy train promp --env navigation --seed 1 --steps 16M ${NAVIGATION}`,
      },
    ],
  },
  "point-robot": {
    algorithm: "pearl",
    about: "It has never acted before, and makes nothing of what it is paid.",
    shipped: [
      {
        who: "one-task",
        name: "One task",
        about: "It learnt the way to a single goal, and believes in that one whatever it is paid.",
        file: "point-robot-one-task",
        command:
          "quickstudy train pearl --env point-robot --config point-robot.toml --seed 0 --steps 40k --set train_tasks=1",
      },
      {
        who: "meta",
        name: "Meta-trained",
        about:
          "It learnt, by PEARL, to infer: it practised on 400 different goals to read from what each step paid where " +
          "the goal may be.",
        file: "point-robot-meta",
        command:
          "quickstudy train pearl --env point-robot --config point-robot.toml --seed 0 --steps 360k --eval-every 10k " +
          "--eval-episodes 200",
      },
    ],
  },
  "half-cheetah-vel": {
    algorithm: "rl2-ppo",
    about: "It has never moved before.",
    shipped: [
      {
        who: "one-task",
        name: "One task",
        about: "It learnt to run at a single speed, and runs at that whatever it is paid.",
        file: "half-cheetah-vel-one-task",
        command: "quickstudy train rl2-ppo --env half-cheetah-vel --seed 0 --steps 5M --set train_tasks=1",
      },
      {
        who: "meta",
        name: "Meta-trained",
        about: "It learnt to learn on 50,000 speeds: what its first steps are paid tells it how fast to run.",
        file: "half-cheetah-vel-meta",
        command: "quickstudy train rl2-ppo --env half-cheetah-vel --seed 0 --eval-every 1M",
      },
    ],
  },
  bandit: {
    algorithm: "rl2-ppo",
    about: "It has never pulled an arm before.",
    shipped: [
      {
        who: "one-task",
        name: "One task",
        about: "It learnt which arm of a single machine is best, and trusts that everywhere.",
        file: "bandit-one-task",
        command: "quickstudy train rl2-ppo --env bandit --seed 0 --steps 400k --set train_tasks=1",
      },
      {
        who: "meta",
        name: "Meta-trained",
        about:
          "It learnt to learn on 400,000 machines: it tries arms, remembers what they paid, and settles on the best.",
        file: "bandit-meta",
        command: "quickstudy train rl2-ppo --env bandit --seed 0",
      },
    ],
  },
};

const files = new Map<string, Promise<Uint8Array>>();

async function fetched(file: string): Promise<Uint8Array> {
  const response = await fetch(`./policies/${file}.safetensors`);
  if (!response.ok) {
    throw new Error(`the policy ${file} cannot be read: the server answered ${response.status}`);
  }
  return new Uint8Array(await response.arrayBuffer());
}

function bytes(file: string): Promise<Uint8Array> {
  const found = files.get(file) ?? fetched(file);
  files.set(file, found);
  // What failed may be tried again.
  found.catch(() => files.delete(file));
  return found;
}

/** Reads the files with the page, so that nothing need be loaded later. */
export function prefetch(): void {
  Object.values(LINES).forEach(({ shipped }) => shipped.forEach(({ file }) => void bytes(file).catch(() => undefined)));
}

/** Algorithms and environments that can be meta-trained in the page. */
export const OFFERS: { algorithm: AlgorithmName; envs: string[] }[] = [
  { algorithm: "promp", envs: ["navigation", "point-corner"] },
  { algorithm: "pearl", envs: ["point-robot"] },
  { algorithm: "rl2-ppo", envs: ["bandit"] },
];

/** Runs of these that are recorded, as `public/recorded/meta.*`: environment and algorithm. */
export const RECORDED: readonly string[] = ["navigation.promp", "point-robot.pearl", "bandit.rl2-ppo"];

/** Environments in which policies can be compared. */
export const ADAPTABLE: readonly string[] = Object.keys(LINES);

/** The policies to compare in an environment, the one that knows least first. */
export async function contestants(env: string): Promise<Contestant[]> {
  const line = LINES[env];
  if (!line) {
    return [];
  }
  const session = await createSession({ algorithm: line.algorithm, env, device: "cpu" });
  try {
    const untrained = await session.policy();
    const others = line.shipped.map(async ({ file, ...known }) => ({
      ...known,
      policy: await loadPolicy(await bytes(file)),
    }));
    return [
      { who: "untrained", name: "Untrained", about: line.about, command: undefined, policy: untrained },
      ...(await Promise.all(others)),
    ];
  } finally {
    session.dispose();
  }
}
