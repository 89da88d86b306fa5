/** Real files for a test: a directory that is removed with the scope. */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import * as NodeFs from "node:fs"
import * as NodeOs from "node:os"
import * as NodePaths from "node:path"

/** The author and the date of commits, so that commits of the same files have the same id. */
const somebody = { NAME: "Somebody", EMAIL: "somebody@example.org", DATE: "2025-01-01T00:00:00Z" }

const identity = Object.fromEntries(
  ["AUTHOR", "COMMITTER"].flatMap((role) =>
    Object.entries(somebody).map(([key, value]) => [`GIT_${role}_${key}`, value])
  )
)

const searchPath = Effect.orElseSucceed(Config.string("PATH"), () => "/usr/local/bin:/usr/bin:/bin")

/** Git in one directory; interruption ends it. */
export const makeGit =
  <E>(directory: string, failed: (message: string) => E) =>
  (...args: ReadonlyArray<string>): Effect.Effect<string, E> =>
    Effect.flatMap(searchPath, (PATH) =>
      Effect.async<string, E>((resume, signal) => {
        execFile(
          "git",
          args,
          {
            cwd: directory,
            signal,
            maxBuffer: 64 * 1024 * 1024,
            env: { ...identity, PATH, HOME: directory, GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null" }
          },
          (error, stdout, stderr) =>
            resume(
              error === null
                ? Effect.succeed(stdout.trim())
                : Effect.fail(failed(`git ${args.join(" ")} failed in ${directory}: ${stderr.trim() || error.message}`))
            )
        )
      }))

/** The entry at a path. */
export type Entry =
  | string
  | Uint8Array
  | { readonly content: string | Uint8Array; readonly executable?: boolean }
  | { readonly link: string }

/** How a file differs from its earlier state. */
export interface Change {
  /** With `/` as the separator. */
  readonly path: string
  readonly change: "added" | "changed" | "removed"
}

/** Writes an entry at an absolute path, with the directories above it; a path that ends with `/` is a directory. */
export const put = (file: string, entry: Entry): void => {
  if (file.endsWith("/")) {
    NodeFs.mkdirSync(file, { recursive: true })
    return
  }
  NodeFs.mkdirSync(NodePaths.dirname(file), { recursive: true })
  // The existing entry may be a link, and writing would follow it.
  NodeFs.rmSync(file, { force: true })
  if (typeof entry === "object" && "link" in entry) {
    NodeFs.symlinkSync(entry.link, file)
    return
  }
  const { content, executable } = typeof entry === "string" || entry instanceof Uint8Array
    ? { content: entry, executable: false }
    : entry
  NodeFs.writeFileSync(file, content)
  if (executable === true) NodeFs.chmodSync(file, 0o755)
}

/** The state of each file, by its path. */
export type Snapshot = ReadonlyMap<string, string>

const printOf = (file: string): string => {
  const stat = NodeFs.lstatSync(file)
  if (stat.isSymbolicLink()) return `link ${NodeFs.readlinkSync(file)}`
  // Reading others, such as pipes, may never end.
  if (!stat.isFile()) return "special"
  const hash = createHash("sha256").update(NodeFs.readFileSync(file)).digest("hex")
  return `${(stat.mode & 0o111) === 0 ? "file" : "program"} ${hash}`
}

/** Reads the state of all files below a directory, except those of git, without following links. */
export const snapshot = (directory: string): Snapshot => {
  const found = new Map<string, string>()
  const visit = (below: string): void => {
    for (const entry of NodeFs.readdirSync(NodePaths.join(directory, below), { withFileTypes: true })) {
      const path = below === "" ? entry.name : `${below}/${entry.name}`
      if (path === ".git") continue
      if (entry.isDirectory()) visit(path)
      else found.set(path, printOf(NodePaths.join(directory, path)))
    }
  }
  visit("")
  return found
}

/** How the files changed between two snapshots, sorted by path. */
export const changesBetween = (before: Snapshot, after: Snapshot): ReadonlyArray<Change> =>
  [...new Set([...before.keys(), ...after.keys()])].toSorted().flatMap((path): ReadonlyArray<Change> => {
    const [was, is] = [before.get(path), after.get(path)]
    if (was === is) return []
    return [{ path, change: was === undefined ? "added" : is === undefined ? "removed" : "changed" }]
  })

/** An entry of a workspace: text, bytes, either of them with options, or a link. */
export type WorkspaceEntry = Entry

/**
 * The entries of a workspace by their relative paths, with `/` as the separator. A path that ends with `/` is an empty
 * directory.
 */
export type WorkspaceFiles = Readonly<Record<string, WorkspaceEntry>>

/** How a file differs from its initial state. */
export type WorkspaceChange = Change

/** An operation on the files of a workspace failed; the message says what, where, and why. */
export class WorkspaceError extends Schema.TaggedError<WorkspaceError>()("WorkspaceError", {
  directory: Schema.String,
  message: Schema.String
}) {}

/**
 * A directory for one test. Paths are relative to it; one that leads out is refused. There is no in-memory version,
 * because the most important tools (bash, grep, git) are programs, which see only real files.
 */
export interface Workspace {
  /** Absolute, without links on the way. */
  readonly directory: string
  /** The absolute path of an entry. */
  readonly at: (...path: ReadonlyArray<string>) => string
  /** A file as text. */
  readonly read: (path: string) => Effect.Effect<string, WorkspaceError>
  /** A file as bytes. */
  readonly bytes: (path: string) => Effect.Effect<Uint8Array, WorkspaceError>
  /** Writes these entries, and replaces existing ones. */
  readonly write: (files: WorkspaceFiles) => Effect.Effect<void, WorkspaceError>
  /** Removes a file, or a directory with its content; a missing one is no error. */
  readonly remove: (path: string) => Effect.Effect<void, WorkspaceError>
  /** Files that differ from their initial state (bytes, executable bit, target), sorted by path; none in `.git`. */
  readonly changes: Effect.Effect<ReadonlyArray<WorkspaceChange>, WorkspaceError>
  /** Runs git in it, with only the repository's config; returns the trimmed output. */
  readonly git: (...args: ReadonlyArray<string>) => Effect.Effect<string, WorkspaceError>
}

/** The options of a workspace. */
export interface WorkspaceOptions {
  /** Makes it a git repository, on the branch `main`, whose first commit has all files, with the same id each time. */
  readonly git?: boolean
}

/** Creates a workspace in the directory for temporary files. */
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
