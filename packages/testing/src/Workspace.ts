/** Owns the real files of a test: a directory with what the test needs in it, gone with the scope. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as NodeFs from "node:fs"
import * as NodeOs from "node:os"
import * as NodePaths from "node:path"
import { type Change, changesBetween, type Entry, put, snapshot } from "./internal/workspace/files.ts"
import { makeGit } from "./internal/workspace/git.ts"

/** What a workspace has at a path: a text, bytes, either of them with more said of it, or a link to somewhere. */
export type WorkspaceEntry = Entry

/** What a workspace has, by paths below its directory, with `/` between the names. One that ends with `/` is an empty directory. */
export type WorkspaceFiles = Readonly<Record<string, WorkspaceEntry>>

/** How a file differs from what was there at first. */
export type WorkspaceChange = Change

/** Something could not be done with the files of a workspace; the message says what, where, and why. */
export class WorkspaceError extends Schema.TaggedError<WorkspaceError>()("WorkspaceError", {
  directory: Schema.String,
  message: Schema.String
}) {}

/**
 * A directory for one test. Paths are those below it; one that leads out is refused. There is no such thing in memory: the
 * tools that matter most (bash, grep, git) are programs, which see the real files alone.
 */
export interface Workspace {
  /** Absolute, and without links on the way. */
  readonly directory: string
  /** The absolute path of something in it. */
  readonly at: (...path: ReadonlyArray<string>) => string
  /** A file as text. */
  readonly read: (path: string) => Effect.Effect<string, WorkspaceError>
  /** A file as bytes. */
  readonly bytes: (path: string) => Effect.Effect<Uint8Array, WorkspaceError>
  /** Puts these in it, in the place of what was there before. */
  readonly write: (files: WorkspaceFiles) => Effect.Effect<void, WorkspaceError>
  /** Removes a file, or a directory with all that is in it; what is not there is no error. */
  readonly remove: (path: string) => Effect.Effect<void, WorkspaceError>
  /** Files that are not what they were when the workspace was made (bytes, executable or not, target), sorted by path; none in `.git`. */
  readonly changes: Effect.Effect<ReadonlyArray<WorkspaceChange>, WorkspaceError>
  /** Runs git in it, without any config but the repository's own; gives its output without space at the ends. */
  readonly git: (...args: ReadonlyArray<string>) => Effect.Effect<string, WorkspaceError>
}

/** What a workspace is besides its files. */
export interface WorkspaceOptions {
  /** It is a git repository, on the branch `main`, whose first commit has all files; the commit has the same id each time. */
  readonly git?: boolean
}

/** Makes a workspace in the directory for temporary files. */
export const make = (
  files: WorkspaceFiles = {},
  options: WorkspaceOptions = {}
): Effect.Effect<Workspace, WorkspaceError, Scope.Scope> =>
  Effect.gen(function*() {
    const directory = yield* Effect.acquireRelease(
      Effect.sync(() => NodeFs.realpathSync(NodeFs.mkdtempSync(NodePaths.join(NodeOs.tmpdir(), "skein-workspace-")))),
      (path) => Effect.sync(() => NodeFs.rmSync(path, { recursive: true, force: true, maxRetries: 3 }))
    )
    const failed = (message: string) => new WorkspaceError({ directory, message })

    const inside = (path: string): Effect.Effect<string, WorkspaceError> => {
      const below = NodePaths.relative(directory, NodePaths.resolve(directory, path))
      return NodePaths.isAbsolute(path) || below === ".." || below.startsWith(`..${NodePaths.sep}`) || below === ""
        ? Effect.fail(
          failed(`${JSON.stringify(path)} is not in the workspace: name a file by its path below ${directory}.`)
        )
        : Effect.succeed(NodePaths.join(directory, below))
    }

    const doing = <A>(what: string, path: string, act: (file: string) => A): Effect.Effect<A, WorkspaceError> =>
      Effect.flatMap(inside(path), (file) =>
        Effect.try({
          try: () => act(file),
          catch: (cause) =>
            failed(
              `${path} in the workspace ${directory} could not be ${what}: ${
                cause instanceof Error ? cause.message : String(cause)
              }`
            )
        }))

    const write = (entries: WorkspaceFiles) =>
      Effect.forEach(
        Object.entries(entries),
        ([path, entry]) => doing("written", path, (file) => put(path.endsWith("/") ? `${file}/` : file, entry)),
        { discard: true }
      )

    const git = makeGit(directory, failed)
    yield* write(files)
    if (options.git === true) {
      yield* git("init", "-q", "--initial-branch=main")
      yield* git("add", "--all")
      yield* git("commit", "-q", "--allow-empty", "--no-verify", "--message=First")
    }
    const look = Effect.try({
      try: () => snapshot(directory),
      catch: (cause) => failed(`The workspace ${directory} could not be read: ${String(cause)}`)
    })
    const first = yield* look
    return {
      directory,
      at: (...path) => NodePaths.join(directory, ...path),
      read: (path) => doing("read", path, (file) => NodeFs.readFileSync(file, "utf8")),
      bytes: (path) => doing("read", path, (file) => new Uint8Array(NodeFs.readFileSync(file))),
      write,
      remove: (path) => doing("removed", path, (file) => NodeFs.rmSync(file, { recursive: true, force: true })),
      changes: Effect.map(look, (now) => changesBetween(first, now)),
      git
    }
  })
