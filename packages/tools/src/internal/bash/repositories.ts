/** Checks whether the repository of a git call makes git run programs: by its settings, its hooks, or its submodules. */
import * as Effect from "effect/Effect"
import { readdir, stat } from "node:fs"
import { resolve } from "node:path"
import { shellEnvironment } from "../../Environment.ts"
import { runGit, withoutFetching } from "../git/gitProcess.ts"
import { type GitCall, gitCall, mayCompare, runsHooks } from "./gitCall.ts"
import { asRisk, beginningOf, type Invocation, type Parts } from "./parts.ts"
import type { Places } from "./places.ts"

const harmless: ReadonlyArray<RegExp> = [
  /^core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol|safecrlf|quotepath|abbrev|compression|untrackedcache|preloadindex|longpaths|whitespace|checkstat|trustctime|hookspath|sparsecheckout|sparsecheckoutcone|commentchar|protecthfs|protectntfs|multipackindex|commitgraph|fscache|bigfilethreshold|splitindex|sharedrepository|excludesfile)$/,
  /^(?:user|author|committer)\.(?:name|email)$/,
  /^remote\.pushdefault$/,
  // Addresses are checked separately.
  /^remote\.[^]*\.(?:url|pushurl|fetch|push|tagopt|prune|prunetags|mirror|skipfetchall|skipdefaultupdate|gh-resolved)$/,
  /^branch\.[^]*\.(?:remote|merge|rebase|pushremote|description|[\w-]*merge-base|github-[\w-]+)$/,
  /^branch\.(?:autosetupmerge|autosetuprebase|sort)$/,
  /^(?:color|column|advice|status|i18n|rerere|index|feature|versionsort|commitgraph|gitflow|alias(?!\.whatchanged$)|pack)\./,
  /^log\.(?:date|decorate|follow|abbrevcommit|mailmap|showroot|graphcolors)$/,
  /^init\.defaultbranch$/,
  /^diff\.(?:algorithm|colormoved|colormovedws|renames|renamelimit|mnemonicprefix|noprefix|context|interhunkcontext|indentheuristic|submodule|wserrorhighlight|wordregex|statgraphwidth|autorefreshindex|ignoresubmodules|suppressblankempty|relative)$/,
  /^diff\.[^]*\.(?:xfuncname|funcname|wordregex|binary|cachetextconv|algorithm)$/,
  /^merge\.(?:conflictstyle|ff|renames|renamelimit|log|stat|autostash|renormalize|verbosity|directoryrenames|branchdesc|defaulttoupstream)$/,
  /^pull\.(?:rebase|ff)$/,
  /^rebase\.(?:autosquash|autostash|stat|updaterefs|abbreviatecommands|missingcommitscheck)$/,
  /^push\.(?:default|autosetupremote|followtags)$/,
  /^fetch\.(?:prune|prunetags|parallel|writecommitgraph|output|showforcedupdates)$/,
  /^tag\.sort$/,
  /^checkout\.(?:defaultremote|guess|workers)$/,
  /^stash\.(?:showpatch|showstat|showincludeuntracked)$/,
  /^commit\.(?:verbose|cleanup|status|template)$/,
  /^gc\.(?:auto|autodetach|autopacklimit|pruneexpire|worktreepruneexpire|reflogexpire|reflogexpireunreachable|packrefs|writecommitgraph|cruftpacks)$/,
  /^extensions\.(?:worktreeconfig|objectformat|preciousobjects|refstorage|noop)$/,
  /^submodule\.active$/,
  /^submodule\.[^]*\.(?:url|active|branch|ignore|path|shallow)$/,
  /^http\.(?:postbuffer|version)$/,
  /^lfs\.repositoryformatversion$/,
  /^(?:blame|grep)\.(?:coloring|linenumber|column|patterntype|extendedregexp|threads|showroot|date|blankboundary|showemail)$/
]

/** Settings that are harmless only with some values. */
const byValue: ReadonlyArray<readonly [key: RegExp, value: RegExp]> = [
  [/^(?:commit|tag|push)\.gpgsign$/, /^(?:false|no|off|0)$/i],
  [/^core\.fsmonitor$/, /^(?:false|true|)$/],
  [/^core\.pager$/, /^(?:less|cat)(?: -[A-Za-z]+)*$/],
  [/^submodule\.recurse$/, /^false$/],
  [/^filter\.lfs\.clean$/, /^git-lfs clean -- %f$/],
  [/^filter\.lfs\.smudge$/, /^git-lfs smudge(?: --skip)? -- %f$/],
  [/^filter\.lfs\.process$/, /^git-lfs filter-process(?: --skip)?$/],
  [/^filter\.lfs\.required$/, /^(?:true|false)$/]
]

/** Settings of programs that run only where git compares the contents of files. */
const comparing = /^diff\.(?:external|[^]*\.(?:command|textconv|trustexitcode))$/

/** Whether a setting makes git run no program. The key is in git's own form. `compares`: the call compares contents. */
const isHarmlessSetting = (key: string, value: string, compares: boolean): boolean =>
  (!compares && comparing.test(key)) || harmless.some((each) => each.test(key)) ||
  byValue.some(([name, known]) => name.test(key) && known.test(value))

/** Whether an address is on another machine, so that git runs no hook of a local repository. */
const isRemoteAddress = (address: string): boolean =>
  /^(?:https?|ssh|git|git\+ssh):\/\/[\w[]/.test(address) ||
  /^(?:[\w.-]+@)?[\w][\w.-]*:(?![:\\]|\/\/)[^]+$/.test(address)

/** What a call needs to know about a repository. */
interface RepositoryUse {
  readonly directory: string
  /** Whether it changes something, and so runs hooks. */
  readonly hooks: boolean
  /** Whether it may compare the contents of files. */
  readonly compares: boolean
  /** The remote that it contacts: a name or an address, `default` if it names none. */
  readonly remote: string | "default" | undefined
}

/** Why git runs programs there. `hooks`: a rule that names the git command still applies. */
interface RepositoryRisk {
  readonly reason: string
  readonly hooks: boolean
  /** The remote, if it is a directory. */
  readonly directory?: string
}

/** Checks it; `undefined` if git runs nothing. */
export type LookAtRepository = (use: RepositoryUse) => Effect.Effect<RepositoryRisk | undefined>

/** How many submodules are checked. */
const maximumSubmodules = 16

/** Hooks that any call may run. */
const always = new Set(["post-index-change", "reference-transaction"])

const settingOf = (text: string): readonly [string, string] => {
  const end = text.indexOf("\n")
  return end < 0 ? [text, "true"] : [text.slice(0, end), text.slice(end + 1)]
}

const pairs = (output: string): ReadonlyArray<readonly [scope: string, setting: string]> => {
  const words = output.split("\0")
  return words.flatMap((scope, at) =>
    at % 2 === 0 && words[at + 1] !== undefined ? [[scope, words[at + 1] ?? ""] as const] : []
  )
}

const namesIn = (directory: string): Effect.Effect<ReadonlyArray<string>> =>
  Effect.async((resume) => {
    readdir(directory, (error, names) => resume(Effect.succeed(error === null ? names : [])))
  })

const exists = (path: string): Effect.Effect<boolean> =>
  Effect.async((resume) => {
    stat(path, (error) => resume(Effect.succeed(error === null)))
  })

const certain = (reason: string): RepositoryRisk => ({ reason, hooks: false })

/** Makes it. */
export const makeRepositories = (environment: Readonly<Record<string, string | undefined>>): LookAtRepository => {
  const variables = { ...shellEnvironment(environment, []), ...withoutFetching, GIT_OPTIONAL_LOCKS: "0", LC_ALL: "C" }
  const git = (directory: string, args: ReadonlyArray<string>) =>
    Effect.catchAll(runGit({ args, directory, environment: variables }), () => Effect.succeed(undefined))

  const settings = Effect.fnUntraced(function*(directory: string) {
    const listed = yield* git(directory, ["config", "-z", "--list", "--show-scope"])
    // Without git, no git call can run.
    if (listed === undefined) return []
    if (listed.code !== 0) return undefined
    return pairs(listed.stdout).flatMap(([scope, setting]) =>
      /^(?:local|worktree)$/.test(scope) ? [settingOf(setting)] : []
    )
  })

  const hooks = Effect.fnUntraced(function*(directory: string, all: boolean) {
    const found = yield* git(directory, ["rev-parse", "--git-path", "hooks"])
    if (found?.code !== 0) return undefined
    const path = found.stdout.replace(/\n$/, "")
    const names = yield* namesIn(path.startsWith("/") ? path : `${directory}/${path}`)
    // `_` is husky's own directory.
    return names.find((name) => all ? !/\.sample$|^_$|^\./.test(name) : always.has(name))
  })

  /** The programs that the settings of a directory and its submodules make git run. */
  const configured = (
    directory: string,
    compares: boolean,
    left: { count: number }
  ): Effect.Effect<RepositoryRisk | undefined> =>
    Effect.gen(function*() {
      const found = yield* settings(directory)
      if (found === undefined) return certain("the config of this repository cannot be read")
      const strange = found.find(([key, value]) =>
        !isHarmlessSetting(key, value, compares) || (/^remote\.[^]*url$/.test(key) && value.includes("::"))
      )
      if (strange !== undefined) {
        return certain(`${strange[0]} in the config of this repository may have git run a program`)
      }
      if (found.length === 0) return undefined
      const tracked = yield* git(directory, ["ls-files", "-z", "--stage"])
      const links = (tracked?.stdout ?? "").split("\0").flatMap((row) => /^160000 [^\t]*\t([^]*)$/.exec(row)?.[1] ?? [])
      for (const link of links) {
        if (!(yield* exists(`${directory}/${link}/.git`))) continue
        if (--left.count < 0) return certain("this repository has more submodules than are checked")
        const risk = yield* configured(`${directory}/${link}`, compares, left)
        if (risk !== undefined) return risk
      }
      return undefined
    })

  const remoteRisk = Effect.fnUntraced(function*(directory: string, remote: string) {
    const found = (yield* settings(directory)) ?? []
    const addresses = found.filter(([key]) => /^remote\.[^]*\.(?:push)?url$/.test(key))
    const named = addresses.filter(([key]) => remote === "default" || key.startsWith(`remote.${remote}.`))
    const local = named.find(([, value]) => !isRemoteAddress(value))
    if (local !== undefined) {
      return { ...certain(`${local[0]} is a directory (${local[1]}), whose hooks git would run`), directory: local[1] }
    }
    if (named.length > 0 || remote === "default" || isRemoteAddress(remote)) return undefined
    // A name that no remote has may be a directory.
    const isHere = /[/\\~:]/.test(remote) || (yield* exists(`${directory}/${remote}`)) ||
      (yield* exists(`${directory}/${remote}.git`))
    return isHere ? certain(`${remote} may be a directory, whose hooks git would run`) : undefined
  })

  return ({ compares, directory, hooks: changes, remote }) =>
    Effect.gen(function*() {
      const risk = yield* configured(directory, compares, { count: maximumSubmodules })
      if (risk !== undefined) return risk
      const away = remote === undefined ? undefined : yield* remoteRisk(directory, remote)
      if (away !== undefined) return away
      const hook = yield* hooks(directory, changes)
      return hook === undefined ? undefined : { reason: `git runs the hook ${hook} of this repository`, hooks: true }
    })
}

/** The directories in which a git call may work. */
export const gitDirectories = (places: Places, top: string, call: GitCall) =>
  Effect.gen(function*() {
    let directories = places.directories.map((each) => each === "" ? top : each)
    for (const { text } of call.directories) {
      const next: Array<string> = []
      for (const directory of directories) {
        const targets = yield* Effect.catchTag(
          places.of(resolve(directory, text)),
          "ToolError",
          () => Effect.succeed([])
        )
        next.push(...targets.map(({ real }) => real))
      }
      directories = next
    }
    return directories
  })

/** What a git call needs to know about the repositories in which it may work. */
const usesOf = (places: Places, top: string, invocation: Invocation) => {
  const call = gitCall(invocation.args)
  const { known } = call
  if (known === undefined) return Effect.succeed([])
  const named = known.call.named.filter(({ kind, operand }) => kind === "remote" && operand)
  const talks = known.table.operands.includes("remote") && !/^(?:remote)$/.test(call.sub ?? "")
  return Effect.map(gitDirectories(places, top, call), (directories) =>
    directories.map((directory): RepositoryUse => ({
      directory,
      hooks: runsHooks(call),
      compares: mayCompare(call.sub ?? "", known.call),
      remote: talks ? named[0]?.text ?? "default" : undefined
    })))
}

/** Adds that; `top` is the session's directory. */
export const withRepositories = Effect.fnUntraced(function*(
  parts: Parts,
  places: Places,
  top: string,
  look: LookAtRepository
) {
  const known = new Map<string, RepositoryRisk | undefined>()
  const riskOf = Effect.fnUntraced(function*(use: RepositoryUse) {
    const key = JSON.stringify(use)
    if (!known.has(key)) known.set(key, yield* look(use))
    return known.get(key)
  })
  const invocations: Array<Invocation> = []
  for (const invocation of parts.invocations) {
    const uses = invocation.program === "git" && invocation.risk === undefined
      ? yield* usesOf(places, top, invocation)
      : []
    const risks: Array<RepositoryRisk> = []
    const writes: Array<string> = []
    const pushes = gitCall(invocation.args).sub === "push"
    for (const use of uses) {
      const risk = yield* riskOf(use)
      if (risk !== undefined) risks.push(risk)
      if (pushes && risk?.directory !== undefined) {
        writes.push(risk.directory.includes(":") ? risk.directory : resolve(use.directory, risk.directory))
      }
    }
    const [first] = risks
    if (first === undefined) {
      invocations.push(invocation)
      continue
    }
    const beginning = risks.every(({ hooks }) => hooks)
      ? { beginning: beginningOf(invocation, gitCall(invocation.args).head) }
      : {}
    invocations.push(asRisk(invocation, first.reason, { ...beginning, writes }))
  }
  return { ...parts, invocations }
})
