import { title } from "./format.js";

/** A world to choose by its picture. */
export interface World {
  name: string;
  headline: string;
  /** A state to draw it in. */
  state: number[];
}

/** The worlds that have a card. */
export const WORLDS: Record<string, World> = {
  "half-cheetah": {
    name: "Cheetah",
    headline: "A cheetah learns\nto run in a minute.",
    state: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
  },
  acrobot: { name: "Acrobot", headline: "Watch two links\nlearn to swing up.", state: [2.2, 0.9, 0, 0] },
  pendulum: { name: "Pendulum", headline: "Watch a pendulum\nlearn to stand up.", state: [0.5, 0] },
  cartpole: { name: "CartPole", headline: "Watch a cart learn\nto hold a pole.", state: [0, 0, 0.12, 0] },
  "mountain-car": { name: "Mountain car", headline: "Watch a weak car\nlearn to climb.", state: [-0.2, 0] },
  "grid-world": { name: "Grid world", headline: "Watch it learn\nthe way over ice.", state: [0, 0] },
};

/** The two lines that say what is to be seen in a world. */
export function headline(env: string): string {
  return WORLDS[env]?.headline ?? `Watch it learn:\n${title(env)}.`;
}

/** What can be seen in each environment. */
export const STORIES: Record<string, string> = {
  cartpole: "Push the cart left or right so that the pole stays up. One point for each step; 500 is the most.",
  "cartpole-no-velocities":
    "The same pole, but nobody says how fast it falls: to know that, a policy has to remember where it was. 500 is " +
    "the most.",
  pendulum: "Swing the pendulum up and keep it there with little force. 0 would be perfect; −200 is good.",
  acrobot: "Swing the lower link above the line by the joint between the two. Each step costs a point.",
  "mountain-car": "The engine is too weak: rock back and forth to get up the hill. Each step costs a point.",
  "mountain-car-continuous": "The same hill with a throttle: 100 points for the flag, less the fuel.",
  "grid-world": "Cross the ice to the goal; holes end the episode.",
  "bit-flip": "Flip bits until the lower row equals the upper one. Each step that does not get there costs a point.",
  "point-origin": "Move the point to the middle. Each step costs its distance from there.",
  "half-cheetah":
    "Six motors in the legs, and nobody says how to run: speed is reward, effort costs. A minute is enough, on " +
    "one core, without a graphics card.",
  hopper:
    "Hop to the right on one leg. A point for each step that it stands, and speed; 3,800 is what its authors ask.",
  walker2d: "Walk to the right on two legs. A point for each step that it stands, and speed.",
  swimmer: "Swim by turning two joints in a thick fluid. Speed is reward; 360 is what its authors ask.",
  reacher: "Bring the tip of the arm to the green disc. Each step costs the distance; −4 is good.",
  "inverted-pendulum": "Push the cart so that the pole stays up. One point for each step; 1,000 is the most.",
  "inverted-double-pendulum":
    "Two poles, one on the other. About nine points for each step that they stand; 9,100 is what its authors ask.",
  "ball-on-beam":
    "Turn the beam so that the ball rolls to its middle and stays there. A step there is worth a point.",
  "ball-on-beam-discrete": "The same beam with three torques: left, right and none.",
  "mass-spring": "Hold the mass on the spring at the green line. Each step costs the squared distance from there.",
  "pyrado-pendulum":
    "Swing the rod up by rocking it: the motor is too weak to lift it. A step upright is worth a point.",
  "qube-swing-up":
    "Swing up the pole by turning the arm that it hangs from, and keep both still. A step upright is worth a point.",
  "qube-stabilise": "Keep the pole at the end of the arm upright. A step upright and still is worth a point.",
  "qcartpole-stabilise": "Keep the pole on the cart upright, away from the ends of the rail. 0 would be perfect.",
  "qcartpole-swing-up": "Swing up the pole by moving the cart, away from the ends of the rail. 0 would be perfect.",
  "ball-balancer": "Tilt the plate so that the ball rolls to its middle. A step there is worth a point.",
};
