/** What a session asks of the world around it: each is carried out by `perform`. */
import type { MessageID, SessionID } from "@skein/domain/Id"
import type { Mode } from "@skein/domain/Mode"
import type { DialogReply } from "../../Dialog.ts"

/** Something to be done. */
export type Request =
  /** Sends a person's words. */
  | { readonly type: "prompt"; readonly text: string; readonly isSure?: boolean }
  /** Runs a command of the session or of the project. */
  | { readonly type: "command"; readonly name: string; readonly words: string }
  /** Runs a command of the person's own. */
  | { readonly type: "shell"; readonly command: string }
  | { readonly type: "reply"; readonly reply: DialogReply }
  | { readonly type: "mode"; readonly mode: Mode }
  | { readonly type: "promote"; readonly tasks: ReadonlyArray<SessionID> }
  | { readonly type: "stop" }
  /** Stops one task. */
  | { readonly type: "stopTask"; readonly task: SessionID }
  | { readonly type: "messageTask"; readonly task: SessionID; readonly text: string }
  /** Shows what a session said and did. */
  | { readonly type: "transcript"; readonly session: SessionID }
  /** Opens another session. */
  | { readonly type: "open"; readonly session: SessionID }
  /** Goes back to before a message, in a copy. */
  | { readonly type: "rewind"; readonly message: MessageID | undefined; readonly text: string }
  /** Lists the prompts to go back to. */
  | { readonly type: "listPrompts" }
  /** Names of files for completion. */
  | { readonly type: "files" }
  /** Opens an editor for the input. */
  | { readonly type: "edit"; readonly text: string }
  /** Makes the terminal ring, where it has no focus. */
  | { readonly type: "notify"; readonly text: string }
  /** Leaves; asks first where something works. */
  | { readonly type: "quit" }
  /** Leaves what works to the server. */
  | { readonly type: "leave" }
  | { readonly type: "stopAndQuit" }
