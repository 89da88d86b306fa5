/** Lets tools see what an editor has not saved. */
import type { AcpHost } from "@skein/acp/AcpHost"
import type { SessionID } from "@skein/domain/Id"
import type { EditorOf } from "@skein/tools/EditorFiles"
import * as Effect from "effect/Effect"

/** The editors of this process, by the roots of their sessions. */
export type Editors = Map<SessionID, EditorOf>

/** Makes what takes them: for this process, or for a server, whose tools read the disk. */
export const useFiles = (editors: Editors, serverUrl: string | undefined): AcpHost["useFiles"] => {
  let isTold = false
  return (root, files) => {
    if (serverUrl === undefined) {
      return Effect.as(
        Effect.acquireRelease(
          Effect.sync(() => void editors.set(root, files)),
          // The session may be open anew by then.
          () => Effect.sync(() => editors.get(root) === files && editors.delete(root))
        ),
        []
      )
    }
    return Effect.sync(() => {
      if (isTold) return []
      isTold = true
      return [
        `Unsaved changes in the editor are not seen: the server at ${serverUrl} runs the tools, and reads files from disk. `
        + "Save files before you ask about them, or start Skein with --attach=off and --db FILE."
      ]
    })
  }
}
