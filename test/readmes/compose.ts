import * as Task from "@skein/core/Task"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"

const Review = Schema.Struct({ file: Schema.String, problems: Schema.Array(Schema.String) })

/** Map and reduce: an agent for each file, four at a time; one more combines the results. */
export const review = (files: ReadonlyArray<string>) =>
  Effect.forEach(
    files,
    (file) => Task.run({ agent: "explore", prompt: `Review ${file}.`, output: Review }),
    { concurrency: 4 }
  ).pipe(
    Effect.flatMap((reviews) =>
      Task.run({ agent: "general", prompt: `Put these reviews in order of weight: ${JSON.stringify(reviews)}` })
    )
  )

/** The first of several: the other requests are closed as soon as one has answered. */
export const quickest = (models: ReadonlyArray<{ readonly providerID: string; readonly modelID: string }>) =>
  Effect.raceAll(models.map((model) => Task.run({ agent: "explore", prompt: "Where is the entry?", model })))

/** A quorum: what at least two of three agents say. */
export const agreed = (question: string) =>
  Effect.forEach(
    [1, 2, 3],
    () => Task.run({ agent: "explore", prompt: question, output: Schema.Boolean }),
    { concurrency: "unbounded" }
  ).pipe(Effect.map((votes) => votes.filter((vote) => vote).length >= 2))

/** A pipeline: each step with its own timeout, and the last one retried if it fails. */
export const fix = (bug: string) =>
  Task.run({ agent: "explore", prompt: `Find the cause of: ${bug}` }).pipe(
    Effect.timeout("5 minutes"),
    Effect.flatMap((cause) =>
      Effect.retry(Task.run({ agent: "build", prompt: `Fix this: ${cause}` }), Schedule.recurs(1))
    )
  )
