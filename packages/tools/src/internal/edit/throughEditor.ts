/** Changes a file that has unsaved text: through its editor, which saves it. What was typed meanwhile is never overwritten. */
import type { ToolError } from "@skein/core/Tool"
import * as Effect from "effect/Effect"
import type { EditorFailure } from "../../EditorFiles.ts"
import type { Target } from "../../Paths.ts"
import { isSameText, type Unsaved } from "../files/unsaved.ts"
import { refusal, refuse } from "../refusal.ts"

/** Nobody knows whether an editor has unsaved text. */
export const silent = ({ shown }: Target) => ({ message }: EditorFailure): ToolError =>
  refusal(
    "editor",
    `${message} So nobody knows whether ${shown} has unsaved changes there. Nothing was changed. Try again.`
  )

/** Refuses what cannot be done while text of the file is unsaved. */
export const requireWritable = (target: Target, { editor }: Unsaved, after: Uint8Array | undefined) => {
  const unsaved = `${target.shown} has changes in the editor that are not saved.`
  if (after === undefined) {
    return refuse("unsaved", `${unsaved} Nothing was moved or removed. Ask the user to save or discard them first.`)
  }
  return editor.write === undefined
    ? refuse("unsaved", `${unsaved} This editor lets nobody else write. Ask the user to save the file, then repeat.`)
    : Effect.void
}

/** The text that the editor has now; fails if it cannot tell. */
const now = (target: Target, { editor, path }: Unsaved, done: string) =>
  Effect.mapBoth(editor.read(path), {
    onFailure: ({ message }) => refusal("editor", `${message} ${done} Read ${target.shown} before you go on.`),
    onSuccess: (text) => Buffer.from(text)
  })

/**
 * Writes. The protocol has no write on a condition, so the text is compared right before. Gives the text that the editor has
 * after that: it may have been formatted.
 */
export const writeThrough = (
  target: Target,
  unsaved: Unsaved,
  after: Uint8Array
): Effect.Effect<Uint8Array, ToolError> =>
  Effect.gen(function*() {
    const { bytes, editor: { write }, path } = unsaved
    if (write === undefined) return yield* requireWritable(target, { ...unsaved }, after).pipe(Effect.as(bytes))
    const before = yield* now(target, unsaved, "Nothing was changed.")
    if (!isSameText(before, bytes)) {
      return yield* refuse(
        "stale",
        `${target.shown} was changed in the editor just now. Nothing was changed. Read it again, then repeat the change.`
      )
    }
    yield* Effect.mapError(write(path, Buffer.from(after).toString("utf8")), ({ message, reason }) =>
      refusal(
        "editor",
        `${message} ${
          reason === "refused"
            ? `So ${target.shown} was not written.`
            : `So nobody knows whether ${target.shown} was written.`
        } Read it before you go on.`
      ))
    const written = yield* now(target, unsaved, "It has said before that the file is written.")
    if (!isSameText(after, bytes) && isSameText(written, bytes)) {
      return yield* refuse(
        "editor",
        `The editor said that it wrote ${target.shown}, and still has the text from before. Tell the user.`
      )
    }
    return written
  })
