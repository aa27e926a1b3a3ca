/** Settings that this page uses so that something can be seen within a minute. */
export interface Recipe {
  steps: number;
  settings: Record<string, unknown>;
}

const RECIPES: Record<string, Recipe> = {
  "promp/navigation": {
    steps: 4_000_000,
    settings: { meta_batch: 10, rollouts: 10, inner_steps: 1, inner_lr: 0.02, learning_rate: 0.003 },
  },
};

/** The page's own settings for an algorithm on an environment, where it has any. */
export function recipe(algorithm: string, env: string): Recipe | undefined {
  return RECIPES[`${algorithm}/${env}`];
}
