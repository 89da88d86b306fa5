/** The model's name and limits, in a separate file so that a list of models does not load the model. */
import type { ModelInfo } from "@skein/domain/Model"

/** Name, limits and price of `offline/survey`. */
export const surveyInfo: ModelInfo = {
  providerID: "offline",
  modelID: "survey",
  name: "Offline survey (no AI: fixed rules)",
  limit: { context: 100_000_000, output: 1_000_000 },
  price: { input: "0", output: "0", cacheRead: "0", cacheWrite: "0" },
  abilities: { tools: true, reasoning: false, images: false }
}
