/** Proves that a question of an agent is over after any answer of a client. */
import { expect, it } from "@effect/vitest"
import { PartID, SessionID } from "@skein/domain/Id"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { makeAsking } from "../../src/internal/asking.ts"

const request = {
  id: PartID.make("prt_1"),
  sessionID: SessionID.make("ses_1"),
  rootID: SessionID.make("ses_1"),
  path: ["build"],
  question: "Which one?",
  options: [{ label: "Red" }],
  multiple: false
}

const answers = [
  {},
  null,
  undefined,
  "Red",
  { action: null },
  { action: "maybe" },
  { outcome: null },
  { outcome: { outcome: "selected" } }
]

it.effect.each(answers.flatMap((answer) => [[answer, { elicitation: { form: {} } }] as const, [answer, {}] as const]))(
  "the answer %j of a client with %j is no answer",
  ([answer, capabilities]) =>
    Effect.scoped(Effect.gen(function*() {
      const dismissed = yield* Deferred.make<string>()
      const asks = { dismiss: (id: string) => Deferred.succeed(dismissed, id) }
      const client = { capabilities, isGone: () => false, ask: () => Effect.succeed(answer) }
      const asking = yield* makeAsking(client as never, { asks } as never)
      asking.ask({ ask: { kind: "question", request }, call: undefined, session: "ses_1", directory: "/" })
      expect(yield* Deferred.await(dismissed)).toBe(request.id)
    }))
)
