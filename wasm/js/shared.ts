import { localThread, workerThread, workersExist, type Thread } from "./thread.js";

let worker: Promise<Thread> | undefined;
let local: Promise<Thread> | undefined;

function keep(make: () => Promise<Thread>, forget: () => void): Promise<Thread> {
  const thread = make();
  thread.catch(forget);
  return thread;
}

/** The worker that policies share; the calling thread where there are no workers. */
export function sharedThread(): Promise<Thread> {
  if (!workersExist()) {
    return callingThread();
  }
  return (worker ??= keep(workerThread, () => {
    worker = undefined;
  }));
}

/** The calling thread's engine. */
export function callingThread(): Promise<Thread> {
  return (local ??= keep(localThread, () => {
    local = undefined;
  }));
}
