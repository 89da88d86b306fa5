/** What a session asks of the world around it: each is carried out by `perform`. */
import type { MessageID, SessionID } from "@skein/domain/Id"
import type { Mode } from "@skein/domain/Mode"
import type { DialogReply } from "../../Dialog.ts"

/** Goes back to before a prompt, in a copy. */
export interface RewindRequest {
  readonly type: "rewind"
  /** The last message that the copy holds; undefined where it is empty. */
  readonly message: MessageID | undefined
  readonly text: string
  /** What commands of the person's own had written for it: the next prompt tells it again. */
  readonly outputs: ReadonlyArray<string>
  /** What files held before; they are written where the person wants it. */
  readonly files: ReadonlyArray<RestoredFile>
}

/** A file as it was; without a text where it did not exist. */
export interface RestoredFile {
  readonly file: string
  readonly text: string | undefined
}

/** Something to be done. */
export type Request =
  /** Sends a person's words; `typed` is what of them was not pasted in a fold: its names are checked. */
  | { readonly type: "prompt"; readonly text: string; readonly typed: string; readonly after?: "turn" }
  /** Runs a command of the session or of the project. */
  | { readonly type: "command"; readonly name: string; readonly words: string; readonly after?: "turn" }
  /** Takes a prompt back that no agent has read, to edit it. */
  | { readonly type: "withdraw"; readonly message: MessageID }
  /** Runs a command of the person's own. */
  | { readonly type: "shell"; readonly command: string }
  | { readonly type: "reply"; readonly reply: DialogReply }
  | { readonly type: "mode"; readonly mode: Mode }
  | { readonly type: "promote"; readonly tasks: ReadonlyArray<SessionID> }
  | { readonly type: "stop" }
  /** Stops one task. */
  | { readonly type: "stopTask"; readonly task: SessionID }
  /** Has a task continue that has ended, or was interrupted. */
  | { readonly type: "resumeTask"; readonly task: SessionID }
  | { readonly type: "messageTask"; readonly task: SessionID; readonly text: string }
  /** Shows what a session said and did. */
  | { readonly type: "transcript"; readonly session: SessionID }
  /** Opens another session. */
  | { readonly type: "open"; readonly session: SessionID }
  | RewindRequest
  /** Says what would change, and asks whether to go back. */
  | { readonly type: "askRewind"; readonly prompt: MessageID }
  /** Lists the prompts to go back to. */
  | { readonly type: "listPrompts" }
  /** Keeps a model in the user's config. */
  | { readonly type: "keepModel"; readonly model: string }
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
