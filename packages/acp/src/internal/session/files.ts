/** Reads and writes files as the client has them, saved or not. Every operation ends within a bounded time. */
import type { SessionID } from "@skein/domain/Id"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ClientFileFailure, ClientFiles } from "../../AcpHost.ts"
import type { Client } from "../connection/Client.ts"

/** How long a client may take for a file. */
const patience = Duration.seconds(5)

/** How long it may take after it did not answer in time, until it answers again. */
const littlePatience = Duration.millis(250)

const failure = (reason: ClientFileFailure["reason"], message: string): ClientFileFailure => ({
  _tag: "EditorFailure",
  reason,
  message
})

const hasText = Schema.is(Schema.Struct({ content: Schema.String }))

/** The files of a client; undefined if it does not let agents read them. What cannot be read is never overwritten. */
export const filesOf = (client: Client, root: SessionID, directory: string): ClientFiles | undefined => {
  const { readTextFile = false, writeTextFile = false } = client.capabilities.fs ?? {}
  if (!readTextFile) return undefined
  let isLate = false

  const bounded = <A>(asking: Effect.Effect<A, { readonly message: string }>): Effect.Effect<A, ClientFileFailure> =>
    Effect.suspend(() => {
      const duration = isLate ? littlePatience : patience
      return asking.pipe(
        Effect.mapError(({ message }) =>
          client.isGone()
            ? failure("gone", "The editor has closed the connection.")
            : failure("refused", `The editor refused: ${message}.`)
        ),
        Effect.tap(() => Effect.sync(() => isLate = false)),
        Effect.timeoutFail({
          duration,
          onTimeout: () => {
            isLate = true
            return failure("silent", `The editor did not answer within ${Duration.format(duration)}.`)
          }
        })
      )
    })

  return {
    directory,
    read: (path) =>
      Effect.flatMap(
        bounded(client.ask("fs/read_text_file", { sessionId: root, path })),
        (answer) =>
          hasText(answer)
            ? Effect.succeed(answer.content)
            : Effect.fail(failure("refused", "The editor answered without a text."))
      ),
    write: writeTextFile
      ? (path, content) => Effect.asVoid(bounded(client.ask("fs/write_text_file", { sessionId: root, path, content })))
      : undefined
  }
}
