/** Real git repositories in a directory for temporary files, and worktrees over them. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { Isolation } from "@skein/core/Isolation"
import type { SessionID } from "@skein/domain/Id"
import * as Worktrees from "@skein/tools/Worktrees"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import * as NodeFs from "node:fs"
import * as NodeOs from "node:os"
import * as NodePaths from "node:path"

/** The id of a task. */
export const task = (name: string | number): SessionID => `ses_${name}` as SessionID

const realGit = execFileSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).trim()

const settings = `[user]
  name = Somebody
  email = somebody@example.org
[init]
  defaultBranch = main
[protocol "file"]
  allow = always
`

/** What may be written in a user's repository; all else of it has to stay as it is, to the byte. */
const ours = /(^|\/)\.git\/(modules\/[^/]+\/)?(objects|worktrees|(logs\/)?refs\/heads\/skein)(\/|$)/

/** Every file of a repository with what is in it, but for what Skein may write. */
const contents = (repo: string): ReadonlyArray<string> =>
  (NodeFs.readdirSync(repo, { recursive: true, withFileTypes: true }))
    .filter((entry) => !entry.isDirectory())
    .map((entry) => NodePaths.relative(repo, NodePaths.join(entry.parentPath, entry.name)))
    .filter((path) => !ours.test(path))
    .toSorted()
    .map((path) => {
      const file = NodePaths.join(repo, path)
      const isLink = NodeFs.lstatSync(file).isSymbolicLink()
      const bytes = isLink ? Buffer.from(NodeFs.readlinkSync(file)) : NodeFs.readFileSync(file)
      return `${path} ${createHash("sha1").update(bytes).digest("hex")}`
    })

/** A new directory with an empty home in it, gone with the scope. */
export const ground = Effect.gen(function*() {
  const top = yield* Effect.acquireRelease(
    Effect.sync(() => NodeFs.realpathSync(NodeFs.mkdtempSync(NodePaths.join(NodeOs.tmpdir(), "skein-worktrees-")))),
    (directory) => Effect.sync(() => NodeFs.rmSync(directory, { recursive: true, force: true }))
  )
  const at = (...path: ReadonlyArray<string>) => NodePaths.join(top, ...path)
  const { PATH = "" } = process.env
  const environment = { HOME: at("home"), PATH: `${at("bin")}:${PATH}`, GIT_CONFIG_NOSYSTEM: "1" }
  const write = (path: string, content: string) => {
    NodeFs.mkdirSync(NodePaths.dirname(NodePaths.resolve(top, path)), { recursive: true })
    NodeFs.writeFileSync(NodePaths.resolve(top, path), content)
  }
  write("home/.gitconfig", settings)

  /** Git as the user runs it. */
  const git = (directory: string, ...args: ReadonlyArray<string>) =>
    execFileSync(realGit, args, {
      cwd: NodePaths.resolve(top, directory),
      encoding: "utf8",
      env: { HOME: at("home"), PATH, GIT_CONFIG_NOSYSTEM: "1" },
      stdio: ["ignore", "pipe", "pipe"]
    }).trim()

  const commit = (directory: string, message: string) => {
    git(directory, "add", "-A")
    git(directory, "commit", "-qm", message)
    return git(directory, "rev-parse", "HEAD")
  }

  /** A repository with two files and one commit; gives its top. */
  const repository = (name = "repo") => {
    NodeFs.mkdirSync(at(name), { recursive: true })
    git(name, "init", "-q")
    write(`${name}/a.txt`, "a\n")
    write(`${name}/sub/b.txt`, "b\n")
    write(`${name}/.gitignore`, "*.log\n")
    commit(name, "one")
    return at(name)
  }

  /** What the user has: every byte of it, and what git says of it. */
  const possessions = (repo: string) => ({
    files: contents(repo),
    // The branches of tasks are ours as well.
    branches: git(repo, "for-each-ref", "--format=%(refname) %(objectname)").split("\n").filter((line) =>
      !line.startsWith("refs/heads/skein/")
    ),
    status: git(
      repo,
      "-c",
      "core.fsmonitor=",
      "--no-optional-locks",
      "status",
      "--porcelain=v2",
      "--branch",
      "--ignored"
    ),
    stashes: git(repo, "stash", "list")
  })

  /** All that was ever ours: nothing of it is left when this is empty. */
  const traces = (repo: string) => {
    const common = NodePaths.resolve(repo, git(repo, "rev-parse", "--git-common-dir"))
    return [
      ...git(repo, "for-each-ref", "--format=%(refname)", "refs/heads/skein").split("\n").filter(Boolean),
      ...(NodeFs.existsSync(NodePaths.join(common, "worktrees"))
        ? NodeFs.readdirSync(NodePaths.join(common, "worktrees"))
        : []),
      ...(NodeFs.existsSync(at("data", "worktrees"))
        ? NodeFs.readdirSync(at("data", "worktrees"), { recursive: true, encoding: "utf8" })
          .filter((path) => path.includes(NodePaths.sep))
        : [])
    ]
  }

  /**
   * Puts a script in the way of git: `body` is run with `$git`, the real one, for calls that have `pattern` in their
   * arguments.
   */
  const intercept = (pattern: string, body: string) => {
    write("bin/git", `#!/bin/sh\ngit=${realGit}\ncase "$*" in *"${pattern}"*)\n${body}\n;; esac\nexec $git "$@"\n`)
    NodeFs.chmodSync(at("bin", "git"), 0o755)
  }
  const letThrough = () => NodeFs.rmSync(at("bin"), { recursive: true, force: true })

  /** Another program, by default with the same data directory. */
  const program = (
    options: { readonly dataDirectory?: string; readonly path?: string; readonly register?: string } = {}
  ) =>
    Worktrees.layer({
      dataDirectory: options.dataDirectory ?? at("data"),
      ...(options.register === undefined ? {} : { register: options.register }),
      environment: { ...environment, ...(options.path === undefined ? {} : { PATH: options.path }) }
    }).pipe(Layer.provide(NodeFileSystem.layer))

  return {
    top,
    at,
    environment,
    git,
    write,
    commit,
    repository,
    possessions,
    traces,
    intercept,
    letThrough,
    program,
    ...(yield* Effect.provide(Isolation, yield* Layer.build(program())))
  }
})
