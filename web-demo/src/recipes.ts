import recipes from "./recipes.json" with { type: "json" };

/** Settings that this page uses so that something can be seen within a minute. */
export interface Recipe {
  steps: number;
  settings: Record<string, unknown>;
}

const RECIPES: Record<string, Recipe> = recipes;

/** The page's own settings for an algorithm on an environment, where it has any. */
export function recipe(algorithm: string, env: string): Recipe | undefined {
  return RECIPES[`${algorithm}/${env}`];
}
