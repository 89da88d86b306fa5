/**
 * Checks after a command what the sandbox could not prevent: a repository that it created, and protected names that are
 * links. Unapproved files are moved away and reported.
 */
import * as NodeFs from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { lstatOf } from "../files/lstatOf.ts"
import { attempt } from "../processes.ts"
import { isIn } from "../within.ts"
import { aside } from "./aside.ts"

/** What the config of a new repository may contain: no key of these names a program. */
const harmless =
  /^(?:core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol)|init\..+|user\.(?:name|email)|branch\.(?:.+\.)?(?:remote|merge|rebase|autosetupmerge|autosetuprebase)|remote\..+\.(?:fetch|url)|submodule\.(?:.+\.)?(?:active|url)|extensions\.(?:objectformat|refstorage)|lfs\.repositoryformatversion)$/i

/** The keys of a git config; `?` if it cannot be read. */
const keysIn = (text: string): ReadonlyArray<string> => {
  let section = "?"
  return text.split("\n").map((line) => line.trim()).filter((line) => line !== "" && !/^[#;]/.test(line)).flatMap(
    (line) => {
      const header = /^\[([\w.-]+)(?:\s+"(.*)")?\]\s*(?:[#;].*)?$/.exec(line)
      if (header !== null) {
        section = header[2] === undefined ? `${header[1]}` : `${header[1]}.${header[2]}`
        return []
      }
      const [, key, value = ""] = /^([\w-]+)\s*(?:=\s*(.*))?$/.exec(line) ?? []
      return key === undefined || line.endsWith("\\") || /^\S+::/.test(value) ? ["?"] : [`${section}.${key}`]
    }
  )
}

const read = (path: string): string | undefined => attempt(() => NodeFs.readFileSync(path, "utf8"), undefined)

/** Whether a new repository contains only what `git init` or `git clone` create, except for its hooks. */
const isPlain = (git: string): boolean =>
  NodeFs.lstatSync(git).isDirectory()
  && lstatOf(join(git, "config"))?.isSymbolicLink() !== true
  && !NodeFs.existsSync(join(git, "config.worktree")) && !NodeFs.existsSync(join(git, "commondir"))
  && keysIn(read(join(git, "config")) ?? "").every((key) => harmless.test(key))

const hooksOf = (git: string): ReadonlyArray<string> =>
  attempt(() => NodeFs.readdirSync(join(git, "hooks")), []).filter((name) => !name.endsWith(".sample"))

const warningOf = (directory: string, path: string, to: string, why: string): string =>
  `${
    relative(directory, path)
  } is protected, and this command was not allowed to change it: ${why}. What it made is now ${
    relative(directory, to)
  }.`

const lookAtGit = (directory: string): ReadonlyArray<string> => {
  const git = join(directory, ".git")
  if (lstatOf(git) === undefined) return []
  if (!isPlain(git)) {
    return [warningOf(directory, git, aside(git), "git would run programs by its config, or work elsewhere")]
  }
  const hooks = hooksOf(git)
  if (hooks.length === 0 && !lstatOf(join(git, "hooks"))?.isSymbolicLink()) {
    return []
  }
  return [warningOf(directory, join(git, "hooks"), aside(join(git, "hooks")), "git would run what is in it")]
}

/** Records a tree before a command. Returns the check that runs afterwards and reports what it moved away. */
export const aftermath = (options: {
  readonly directory: string
  /** The names at its top that are protected, except `.git`. */
  readonly names: ReadonlyArray<string>
  /** The directories of git in it. */
  readonly repositories: ReadonlyArray<string>
  readonly approved: ReadonlyArray<string>
}): () => ReadonlyArray<string> => {
  const { approved, directory, names, repositories } = options
  const isApproved = (path: string) => approved.some((each) => isIn(each, path) || isIn(path, each))
  const linkAt = (path: string) => attempt(() => NodeFs.readlinkSync(path), undefined)
  const links = [...names, ".git"].map((name) => join(directory, name)).flatMap((path) => {
    const target = linkAt(path)
    return target === undefined || isApproved(path) ? [] : [{ path, target }]
  })
  // It makes git use the config and the hooks of another directory. An empty file in its place would break git.
  const elsewhere = repositories.map((each) => join(each, "commondir"))
    .filter((path) => !isApproved(path) && lstatOf(path) === undefined)
  const git = join(directory, ".git")
  const isNew = lstatOf(git) === undefined
    && !approved.some((each) => isIn(each, git))

  return () => [
    ...links.flatMap(({ path, target }) =>
      attempt(() => {
        if (linkAt(path) === target) return []
        const isThere = lstatOf(path) !== undefined
        const to = isThere ? aside(path) : path
        NodeFs.symlinkSync(target, path)
        return isThere
          ? [warningOf(directory, path, to, `it is a link to ${resolve(dirname(path), target)} again`)]
          : []
      }, [])
    ),
    ...elsewhere.flatMap((path) =>
      attempt(() => [warningOf(directory, path, aside(path), "git would work by another directory")], [])
    ),
    ...(isNew ? attempt(() => lookAtGit(directory), []) : [])
  ]
}
