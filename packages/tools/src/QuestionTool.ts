/** The tool `question`: asks the person what only a person can decide. */
import { Question } from "@skein/core/Question"
import { define, type Tool } from "@skein/core/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { refusal, refuse } from "./internal/refusal.ts"

const description =
  `Asks the user one question and waits for the answer. Use it where you cannot go on sensibly without a decision that is
theirs, and nothing in the project answers it. Give options where there are some; the user may always answer in words of
their own. Do not ask for permission with it: a tool that needs permission asks for it by itself.`

/** The maximum length of a question with all its options, in characters: it has to fit on one screen. */
const longest = 8_000

const Parameters = Schema.Struct({
  question: Schema.NonEmptyString.annotations({
    description: "The question, with all that is needed to answer it"
  }),
  options: Schema.optional(
    Schema.Array(
      Schema.Struct({ label: Schema.NonEmptyString, description: Schema.optional(Schema.String) })
    )
      .pipe(Schema.maxItems(9)).annotations({
        description: "Up to nine answers to choose from, the best first, each a few words with what it would mean"
      })
  ),
  multiple: Schema.optional(
    Schema.Boolean.annotations({ description: "true: several of the options may be chosen" })
  )
})

/** The parameters of `question`. */
export interface QuestionInput extends Schema.Schema.Type<typeof Parameters> {}

/** What a model does without an answer. */
const without = "Decide yourself as well as you can, and say in your answer what you have assumed."

/** Makes `question`. */
export const makeQuestion: Effect.Effect<Tool<QuestionInput>, never, Question> = Effect.map(
  Question,
  (questions) =>
    define<QuestionInput>({
      name: "question",
      // If Skein cannot ask anyone, asking would only cost a step.
      describe: ({ mode, rootID }) =>
        Effect.succeed(mode !== "auto" && questions.canAsk(rootID) ? description : undefined),
      parameters: Parameters,
      effect: "safe",
      waits: true,
      title: ({ question }) => question.split("\n", 1).join("").slice(0, 100),
      authorise: (input) =>
        JSON.stringify(input).length > longest
          ? refuse(
            "too_large",
            `The question is too long for a person: the limit is ${longest} characters. Ask for less.`
          )
          : Effect.succeed([{ permission: "question", patterns: ["*"], always: ["*"], metadata: {} }]),
      execute: ({ multiple = false, options = [], question }, context) =>
        questions.ask(context, { question, options, multiple: multiple && options.length > 1 }).pipe(
          Effect.map((answers) => ({
            title: answers.join(", ").slice(0, 100),
            output: `The user answers: ${answers.join(", ")}`,
            metadata: { question, answers }
          })),
          Effect.catchTags({
            Unanswered: ({ message, reason }) => Effect.fail(refusal(reason, `${message} ${without}`)),
            StorageError: ({ message }) => Effect.fail(refusal("storage", message))
          })
        )
    })
)
