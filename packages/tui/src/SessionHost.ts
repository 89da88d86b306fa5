/** What a session at a terminal is given: the terminal, the person's machine, and what to open. */
import type { Budget } from "@skein/domain/Budget"
import type { SessionID } from "@skein/domain/Id"
import type { Mode } from "@skein/domain/Mode"
import type { ModelRef } from "@skein/domain/Model"
import type { PartInput } from "@skein/domain/Part"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type { ReadStream } from "node:tty"
import type { ScreenOptions } from "./Screen.ts"
import type { Style } from "./Style.ts"

/** The terminal. */
export interface SessionTerminal extends Required<ScreenOptions> {
  readonly keyboard: ReadStream
  readonly onResize: (listener: () => void) => Effect.Effect<void, never, Scope.Scope>
  /** Gives a function each line that the program would write below what is drawn, such as what it logs. */
  readonly onLine: (listener: (line: string) => void) => Effect.Effect<void, never, Scope.Scope>
  /** How much was written that the terminal has not taken yet, in characters. */
  readonly waiting: () => number
  readonly style: Style
}

/** What was found for the names in a prompt. */
export interface NamesChecked {
  /** Why the prompt is not sent; undefined where it is. */
  readonly refused: string | undefined
  readonly notes: ReadonlyArray<string>
}

/** What names in a prompt are about. */
export interface NamesPlace {
  readonly directory: string
  /** The session that is open. */
  readonly session: SessionID | undefined
  /** Whether its files are on the machine that the person sits at. */
  readonly seesFiles: boolean
}

/** What a session needs of the machine that the person sits at. */
export interface SessionHost {
  /** The names of the files below a directory, ignored ones left out. */
  readonly files: (directory: string) => Effect.Effect<ReadonlyArray<string>>
  /** What is wrong with the names behind `@` in a text: why it should not be sent, or what is worth knowing. */
  readonly check: (place: NamesPlace, text: string) => Effect.Effect<NamesChecked>
  /** Whether a directory is on that machine, given the machine that it is said to be on, if that is known. */
  readonly sees: (
    directory: string,
    machine: { readonly host: string; readonly machine?: string | undefined } | undefined
  ) => boolean
  /** The text of a file below a directory; undefined where there is none, or it lies elsewhere. */
  readonly read: (directory: string, name: string) => Effect.Effect<string | undefined>
  /** Gives a file below a directory this text, or deletes it. */
  readonly write: (
    directory: string,
    name: string,
    text: string | undefined
  ) => Effect.Effect<void, { readonly message: string }>
  /** Makes a file of these pieces, readable for the person alone, and gives its path; one that is there stays as it is. */
  readonly create: <E extends { readonly message: string }>(
    directory: string,
    name: string,
    pieces: Stream.Stream<Uint8Array, E>
  ) => Effect.Effect<string, { readonly message: string }>
  /** Runs a command of the person's own, and gives what it wrote. */
  readonly shell: (
    directory: string,
    command: string
  ) => Effect.Effect<{ readonly output: string; readonly exit: number }>
  /** Runs this program with other arguments, and gives what it wrote. */
  readonly program: (directory: string, args: ReadonlyArray<string>) => Effect.Effect<string>
  /** The providers whose servers listen on this machine and need no key. */
  readonly localServers: Effect.Effect<ReadonlyArray<string>>
  /** Whether the person was never asked which model answers. From then on they were. */
  readonly mayOfferModels: Effect.Effect<boolean>
  /** Makes a model the one of the user's config, and gives the path of that. */
  readonly keepModel: (name: string) => Effect.Effect<string, { readonly message: string }>
  /** Opens the person's editor with a text, and gives what it was left with; undefined where none is set. */
  readonly edit: (text: string) => Effect.Effect<string | undefined>
  /** Earlier inputs of the project, the oldest first. */
  readonly history: (directory: string) => Effect.Effect<ReadonlyArray<string>>
  readonly remember: (directory: string, text: string) => Effect.Effect<void>
}

/** What is opened. */
export interface SessionRequest {
  readonly directory: string
  readonly branch: string | undefined
  /** The session to continue; by default a new one. */
  readonly session: SessionID | undefined
  /** Shows the sessions of the project first. */
  readonly picks: boolean
  /** The title of the first session that is made. */
  readonly title: string | undefined
  /** The first prompt; empty where there is none. */
  readonly prompt: string
  /** They go with the first prompt that is sent. */
  readonly files: ReadonlyArray<PartInput>
  /** The limits of each session from its first prompt here; they replace those of the same name. */
  readonly budget: Budget | undefined
  readonly mode: Mode | undefined
  readonly agent: string | undefined
  readonly model: ModelRef | undefined
  /** Shown at first: what is worth knowing of the configuration. */
  readonly notes: ReadonlyArray<string>
  /** The model that answers where there is no key, and what is said then. */
  readonly fallback: { readonly model: string; readonly note: string }
}

/** How a session was left. */
export interface SessionLeft {
  readonly session: SessionID | undefined
  /** Whether what works was left to the server. */
  readonly isLeft?: boolean
}
