import { loadPolicy, type Policy } from "quickstudy";
import { RECORDED } from "./policies.js";

/** A recorded run: returns on held-out tasks by seconds of training, and the policy that it ended with. */
export interface Recorded {
  seconds: number[];
  envSteps: number[];
  before: number[];
  after: number[];
  policy: Policy;
}

/** The recorded run of an algorithm in an environment, where there is one. Its policy is to be disposed of. */
export async function recorded(env: string, algorithm: string): Promise<Recorded | undefined> {
  if (!RECORDED.includes(`${env}.${algorithm}`)) {
    return undefined;
  }
  const name = `./recorded/meta.${env}.${algorithm}`;
  const [about, bytes] = await Promise.all([fetched(`${name}.json`), fetched(`${name}.safetensors`)]);
  const { seconds, envSteps, before, after } = (await about.json()) as Omit<Recorded, "policy">;
  return { seconds, envSteps, before, after, policy: await loadPolicy(await bytes.arrayBuffer()) };
}

async function fetched(file: string): Promise<Response> {
  const response = await fetch(file);
  if (!response.ok) {
    throw new Error(`${file} cannot be read: the server answered ${response.status}`);
  }
  return response;
}
