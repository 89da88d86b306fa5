/**
 * Lists the programs that run others, or write because of a flag, and with which arguments. No wildcard allows those
 * calls, unless the rule begins with what is run. A program that is not listed does what its name says, and a rule for
 * it allows exactly that.
 */
import { lookup } from "@skein/domain/Lookup"
import {
  carriedBy,
  findCall,
  hasSubcommands,
  type Kind,
  type KnownCall,
  knownCall,
  type Named,
  nameInTables,
  tableFor
} from "../programs/programs.ts"
import { gitCall } from "./gitCall.ts"
import { xargsJudged } from "./outputs.ts"
import { awkRisk, builtinRisks, isUnknownToTools, type Risk, sedRisk } from "./textRisks.ts"
import { type Argument, isAnchored, plainWord } from "./words.ts"
import { findOption, type Options } from "./wrappers.ts"

/** Options before the name of a script that do not change what an interpreter runs. */
const plainOptions = lookup<RegExp>({
  bash: /^-[eux]+$/,
  bunx: /^$/,
  java: /^-X(?:mx|ms|ss)\w+$/,
  node:
    /^--(?:no-warnings|enable-source-maps|check|experimental-strip-types|test|watch|trace-warnings|no-deprecation)$/,
  npx: /^(?:-y|--yes|--no-install|-q|--quiet|--no)$/,
  perl: /^-[wT]+$/,
  php: /^$/,
  python: /^-[uBOEsSIdv]+$/,
  ruby: /^-w$/,
  sh: /^-[eux]+$/,
  uvx: /^$/
})

/** Programs with subcommands, and the subcommands after which a wildcard only covers details. */
const subcommands = lookup<RegExp>({
  bun: /^(?:test|install|add|remove|update|outdated|pm ls|run [\w:./-]+|x [\w@/.-]+|[\w@./-]+\.[cm]?[jt]sx?)$/,
  bundle: /^(?:install|exec [\w.-]+|list|show|outdated)$/,
  busctl: /^(?:list|status|tree)$/,
  cargo: /^run$/,
  cmake: /^(?:--build|--version)$/,
  conda: /^(?:list|info|env list)$/,
  deno: /^(?:test|lint|fmt|check|task [\w:.-]+)$/,
  docker:
    /^(?:ps|images|logs|version|info|inspect|stats|top|port|history|diff|events|build|pull|stop|start|restart|rm|rmi|(?:compose|container|image|volume|network|system) (?:ps|ls|list|logs|config|images|top|version|inspect|df|up|down|build|restart|stop|start|pull))$/,
  go: /^(?:generate|run [\w./-]+|tool [\w./-]+)$/,
  kubectl: /^(?:get|describe|logs|top|version|explain|api-resources)$/,
  npm: /^exec(?: --)? [\w@/.-]+$/,
  pipenv: /^run [\w.-]+$/,
  pnpm: /^(?:(?:exec|dlx) [\w@/.-]+|(?!(?:exec|dlx|config|create|x)$)[a-z][\w.:-]*)$/,
  podman: /^(?:ps|images|logs|version|info|inspect|stats|top|port|history|diff)$/,
  poetry: /^run [\w.-]+$/,
  swift: /^(?:build|test|package [\w-]+)$/,
  systemctl: /^(?:status|list-units|list-timers|is-active|is-enabled|show|cat)$/,
  uv: /^(?:run [\w.-]+|sync|lock|pip (?:list|show|freeze|install)|tree|tool list)$/,
  yarn:
    /^(?:(?:exec|dlx|run) [\w@/.-]+|(?!(?:exec|dlx|config|create|plugin|policies|run|set|workspaces?)$)[a-z][\w.:-]*)$/
})

/** Programs whose first operand is a script, a module or a package to run. */
const aliases: ReadonlyArray<readonly [RegExp, string]> = [
  [/^python[\d.]*$|^pypy[\d.]*$/, "python"],
  [/^(?:node|nodejs|tsx|ts-node)[\d.]*$/, "node"],
  [/^(?:bash|dash|zsh)$/, "bash"],
  [/^sh$/, "sh"],
  [/^ruby[\d.]*$/, "ruby"],
  [/^perl[\d.]*$/, "perl"],
  [/^php[\d.]*$/, "php"],
  [/^(?:npx|pnpx|bunx|uvx)$/, "npx"],
  [/^java$/, "java"]
]

/** Programs that run another one. If that is an interpreter, the rule has to name what it runs as well. */
const carriers = /^(?:bun|bundle|bunx|npm|npx|pipenv|pnpm|pnpx|poetry|uv|uvx|yarn)$/

/** What those of them do that runs no program named in the call. */
const ownWork = /^bun (?!x$)|^uv (?:sync|lock|pip|tree|tool)$|^bundle (?!exec$)/

const isName = (text: string | undefined): text is string => text !== undefined && /^[\w@./:+][\w@./:+-]*$/.test(text)

/** Whether a word only selects or formats tests. */
const isPlainForTests = (word: string): boolean =>
  !word.startsWith("-") ||
  /^--(?:test-(?:name-pattern|skip-pattern|concurrency|timeout|shard)=.*|test-(?:only|force-exit|update-snapshots)|test-reporter=(?:spec|tap|dot|junit|lcov)|experimental-test-coverage|no-warnings|watch)$/
    .test(word)

/** Modules of Python that take no code, and run none but what the project says. */
const plainModules =
  /^(?:black|build|compileall|ensurepip|flake8|http\.server|isort|json\.tool|mypy|py_compile|pyright|pytest|ruff|tarfile|unittest|venv|virtualenv|zipfile|pip (?:check|download|freeze|install|list|show|uninstall|wheel)(?= )) /

/** Whether a call of Python runs no module, or one that takes no code: a rule for its name is enough for those. */
const runsPlain = (words: ReadonlyArray<string>, count: number): boolean => {
  if (words[count - 2] !== "-m") return true
  const [module = "", ...rest] = words.slice(count - 1)
  const args = rest.map(plainWord)
  return plainModules.test(`${[module, ...rest].join(" ")}  `) && findOption(args, options[module] ?? {}) === undefined
}

const scripted = (kind: string, words: ReadonlyArray<string>): number | undefined => {
  let at = 1
  while (plainOptions[kind]?.test(words[at] ?? "") === true && words[at] !== "") at++
  if (kind === "python" && words[at] === "-m") {
    const isOther = words[at + 1] === "pip" && words.some((each) => each.startsWith("--py"))
    return isName(words[at + 1]) && !isOther ? at + 2 : undefined
  }
  if (kind === "java" && words[at] === "-jar") return isName(words[at + 1]) ? at + 2 : undefined
  if (kind === "node" && words[at - 1] === "--test") return words.slice(at).every(isPlainForTests) ? at : undefined
  return isName(words[at]) && !/^\/(?:dev|proc)\//.test(words[at] ?? "") ? at + 1 : undefined
}

/** How a call begins. */
interface Beginning {
  /** How many words a rule that is narrower than the program's name has to name. */
  readonly count: number
  /** Whether this is what the program is usually run for, so that a rule for its name is enough. */
  readonly ordinary: boolean
  /** Whether it runs a file or another program. */
  readonly runs: boolean
}

/** How a call of such a program begins; `undefined` if a rule has to name all of it. */
const beginningOf = (words: ReadonlyArray<string>): Beginning | undefined => {
  const [program = "", ...rest] = words
  const name = program.slice(program.lastIndexOf("/") + 1)
  const known = subcommands[name]
  const length = known === undefined ?
    0 :
    [1, 2, 3].find((count) => count <= rest.length && known.test(rest.slice(0, count).join(" ")))
  if (length === undefined) return undefined
  const kind = length > 0 ? undefined : aliases.find(([pattern]) => pattern.test(name))?.[1]
  const count = length > 0 ? length + 1 : kind === undefined ? undefined : scripted(kind, words)
  if (count === undefined) return undefined
  if (!carriers.test(name)) return { count, ordinary: kind !== "python" || runsPlain(words, count), runs: length === 0 }
  const isOwn = length > 0 && ownWork.test(words.slice(0, 2).join(" "))
  if (isOwn) return { count, ordinary: true, runs: /\.[cm]?[jt]sx?$/.test(words[count - 1] ?? "") }
  const [carried = "", ...others] = words.slice(count - 1)
  // A package may be named with its version.
  const inner = [carried.replace(/(?!^)@[^/]*$/, ""), ...others]
  const more = aliases.some(([pattern]) => pattern.test(inner[0] ?? "")) ? beginningOf(inner)?.count : 1
  return more === undefined ? undefined : { count: count - 1 + more, ordinary: false, runs: true }
}

/** Programs that run their arguments: code, commands, or the contents of a file. */
const interpreters = new Set(
  `. alias ansible ash at bash batch bind bun busybox bwrap capsh catchsegv chroot chrt chronic clisp cmake coproc compgen complete
  crontab csh ctr dash dbus-run-session dbus-send dc deno docker doas ed editor elinks elixir elvish emacs enable entr env erl
  escript eval ex exec expect fakeroot firejail fish flock fzf gdb gdbus getopts ghci gnuplot groovy guile hg ifne irb java
  jbang jrunscript jshell julia ksh latexmk launchctl let lldb logsave ltrace lua luajit m4 machinectl mail mailx man
  mapfile mariadb mksh mono mutt mysql nano nc ncat nerdctl newgrp nix nix-shell node nodejs nodemon nsenter nu numactl nvim nvimdiff
  ocaml octave openvpn osascript parallel pee perf perl php pkexec podman powershell prename prlimit psql pwsh py pypy pypy3
  python python2 python3 R racket rbash readarray rename rksh rlwrap Rscript ruby run0 runcon run-parts runuser rzsh sbcl scala screen
  select-editor sensible-editor script sftp sg sh shopt sk sleep-until socat source sqlite sqlite3 ssh ssh-agent start-stop-daemon stdbuf strace su sudo
  swift systemd-run taskset tclsh telnet tmux toybox trap ts-node tsx unbuffer unshare valgrind vi view vim vim.basic vim.gtk3 vim.nox vim.tiny vimdiff visudo w3m watch
  watchexec wine wish xargs xonsh xterm xvfb-run yash zsh`.split(/\s+/)
)

/** Programs that run something only by an option, or by what a file says. */
const willing = new Set(
  `7z 7za aria2c atq bsdtar busctl bzless convert cpio cvs dd fc fossil gpg gpg2 groff gs gtar info jobs latex ldd links
  lualatex lynx lzless magick mogrify most open openssl pandoc patch pax pdflatex pdftex pg rsync scp split csplit ssh-add
  ssh-copy-id ssh-keygen svn systemctl tar tcpdump tex troff unalias unrar unzip xdg-open xelatex xsltproc xzless zip zless
  zmore`.split(/\s+/)
)

/** Options of programs without a table that make them run, write or contact something. */
const options = lookup<Options>({
  ack: { long: ["pager", "output"] },
  aws: { words: ["configure"] },
  az: { words: ["config", "configure", "extension", "ssh"] },
  bundle: { words: ["exec"] },
  cpack: { short: "D", long: ["config"] },
  ctest: { short: "S", long: ["build-and-test", "script", "script-new-process"] },
  conda: { words: ["run"] },
  diff3: { long: ["diff-program"] },
  gcloud: { words: ["components", "config", "scp", "ssh"] },
  gh: { words: ["alias", "extension", "extensions", "ext", "config", "codespace", "cs"] },
  gradle: { short: "Ibp", long: ["init-script", "build-file", "project-dir"] },
  helm: { words: ["plugin"] },
  iconv: { short: "o", long: ["output"] },
  install: { short: "s", long: ["strip", "strip-program"] },
  ip: { words: ["netns", "vrf"], starts: ["-b"] },
  kubectl: { words: ["exec", "plugin", "cp", "edit", "debug", "run", "config"] },
  mvn: { short: "f", long: ["file"] },
  mypy: { long: ["config-file", "custom-typing-module", "custom-typeshed-dir", "python-executable", "install-types"] },
  pipenv: { words: ["run", "shell"] },
  poetry: { words: ["run", "shell"] },
  prettier: { short: "w", long: ["write", "config", "plugin"] },
  prove: { short: "eP", long: ["exec", "formatter", "harness", "plugin", "source"] },
  ptx: { short: "G", long: ["traditional"] },
  rustup: { words: ["run"] },
  uv: { words: ["run", "tool"] },
  xmllint: { short: "o", long: ["output"] },
  yq: { short: "i", long: ["inplace", "in-place"] }
})

/** Subcommands that run more than the project's own files say. */
const runsMore = lookup<ReadonlyArray<string>>({
  cargo: ["run", "install"],
  go: ["run", "generate", "tool"]
})

/** Programs that download a program and run it. */
const fetchers = new Set(["npx", "bunx", "uvx", "pipx", "pnpx", "corepack"])

/** Options that only say where to write. */
const writing = /^(?:-[a-zA-Z]+|--(?:output|write|in-?place)(?:=.*)?|-(?:delete|fls|fprint[0f]?))$/

/** Programs that only treat their arguments as text, whatever the shell makes of them. */
const inert = new Set(`: echo false true [ test printf exit return export declare local`.split(/\s+/))

/**
 * Builtins that at most set harmless variables or change the directory, which is tracked. `builtinRisks` checks the
 * rest.
 */
const readingBuiltins = new Set(
  `: [ break cd command continue declare echo exit export false local printf pwd read readonly return set shift test times true typeset unset
  wait`.split(/\s+/)
)

/** Whether the shell runs this itself, whatever programs exist. */
export const isBuiltin = (name: string): boolean => inert.has(name) || readingBuiltins.has(name)

/** jq reads modules from any place that its program names. */
const jqRisk = (args: ReadonlyArray<Argument>): Risk =>
  args.some(({ text }) => /\b(?:import|include)\b/.test(text)) ? "jq may read modules from elsewhere" : undefined

/** date sets the clock if an operand is not a format. */
const dateRisk = (args: ReadonlyArray<Argument>): Risk =>
  args.some(({ text }, at) => /^\d{6,}(?:\.\d+)?$/.test(text) && !/^-[dr]$/.test(args[at - 1]?.text ?? ""))
    ? "date may set the clock"
    : undefined

/** A file that describes a target names the linker. */
const cargoRisk = (args: ReadonlyArray<Argument>): Risk =>
  args.some(({ text }) => text.endsWith(".json")) ? "cargo may be given another linker by a file" : undefined

/** Pagers run what follows a plus. */
const pagerRisk = (args: ReadonlyArray<Argument>): Risk =>
  args.some(({ text }) => text.startsWith("+")) ? "a pager runs commands behind +" : undefined

/** An unpacker creates a file whose name is not in its arguments. */
const packerRisk = (args: ReadonlyArray<Argument>): Risk =>
  args.some(({ text }) => /^-[a-zA-Z0-9]*[clt]|^--(?:stdout|list|test)$/.test(text))
    || !args.some(({ text }) => /\.(?:gz|bz2|xz|zst|lzma|Z|tgz)$|^-[a-zA-Z0-9]*d|^--(?:un|de)compress$/.test(text))
    ? undefined
    : "it puts unpacked files in the place of packed ones"

/** The arguments of sed without those that make it write to the file that it reads. */
const notInPlace = (args: ReadonlyArray<Argument>): ReadonlyArray<Argument> =>
  args.filter(({ text }) => !/^(?:-i.*|--in-place(?:=.*)?)$/.test(text))

const ownRisks: ReadonlyMap<string, (args: ReadonlyArray<Argument>) => Risk> = new Map([
  ...["awk", "gawk", "mawk", "nawk"].map((name) => [name, awkRisk] as const),
  ...["bzip2", "gunzip", "gzip", "unxz", "unzstd", "xz", "zstd"].map((name) => [name, packerRisk] as const),
  ["cargo", cargoRisk],
  ["date", dateRisk],
  ["jq", jqRisk],
  ["less", pagerRisk],
  ["more", pagerRisk],
  ["sed", sedRisk]
])

/** The plain name of a program. The name of an interpreter may end in a version. */
export const isInterpreter = (program: string): boolean =>
  interpreters.has(program) || willing.has(program) || fetchers.has(program) ||
  /^(?:python|perl|ruby|lua|php|node|pypy)[\d.]+(?:-[\w.-]+)?$/.test(program)

/** Kinds of operands for which it does not matter which files exist. */
const takesFiles = new Set<Kind>(["read", "look", "below", "git"])

/** Programs of which all options only read, so that a file name that looks like an option is harmless. */
const calm = new Set(
  `cat cmp comm cut fold grep egrep fgrep head ls md5sum nl od paste readlink realpath rev sha1sum sha256sum sha512sum stat strings
  sum tac tail wc`.split(/\s+/)
)

/** Programs that write to one operand too many. */
const writesSecond = new Set(["uniq", "xxd"])

const isAnchoredOutput = (output: Argument["output"]): boolean =>
  output?.kind === "paths" && output.whole && output.below.every((path) => !path.startsWith("-"))

/** Whether a word that only the shell knows may be here. */
const mayStand = (
  name: string,
  { kind, operand, option, word }: Named<Argument>,
  still: boolean,
  at: boolean
): boolean => {
  const { glob, output, source } = word
  if (word.fixed || output?.kind === "word") return true
  if (glob !== undefined || output?.kind === "paths") {
    const isSafe = still || calm.has(name) || isAnchoredOutput(output) || (glob !== undefined && isAnchored(glob))
    const isFile = takesFiles.has(kind) || (/^(?:write|pack)$/.test(kind) && glob !== undefined && isAnchored(glob))
    return operand && isFile && isSafe && !writesSecond.has(name)
  }
  // If a value may name a file, only the value of a header may be arbitrary.
  if (at && !(/^(?:-H|--header)$/.test(option ?? "") && /^"[\w-]+:/.test(source))) return false
  return !operand && kind === "text" && /^"[^"@*]*"$/.test(source)
}

/** Whether a variable for make only turns something on or off: any other may replace a program. */
const isSwitch = (text: string): boolean =>
  /=(?:\d+|[yn]|yes|no|on|off|debug|release)$/.test(text) && isUnknownToTools(text.split("=", 1).join(""), text)

const urlRisk = (text: string): Risk =>
  /^(?:https?:\/\/)?(?!file\b)[\w.-]+(?::\d+)?(?:[/?#][^\s]*)?$/i.test(text) && !text.startsWith("-")
    ? undefined
    : `${text} may be another kind of address than one of the web`

/** What a call with a table does beyond the table. */
const tableRisk = ({ call, name, table }: KnownCall<Argument>, still: boolean): Risk => {
  if (call.unknown !== undefined) {
    return `${call.unknown} is not among the arguments of ${name} that are known to be harmless`
  }
  for (const each of call.named) {
    if (!mayStand(name, each, still && !table.acts, table.at)) return `${each.word.source} is not known before it runs`
    const { kind, text } = each
    if (kind === "target" && text.includes("=") && !isSwitch(text)) {
      return `${name} may be given another shell by ${text}`
    }
    if (kind === "url" && urlRisk(text) !== undefined) return urlRisk(text)
    if (table.at && /^@|%output/.test(text)) return `${text} names a file`
    if (kind === "write" && writesSecond.has(name)) return `${name} may write a file`
  }
  return undefined
}

/** What is known about a call. */
export interface Judged {
  /** Why no wildcard may allow it. */
  readonly risk: Risk
  /** How a rule with a wildcard has to begin to allow it nevertheless. */
  readonly beginning?: Beginning | undefined
  /** Whether it only reads files that have their own questions. */
  readonly reads: boolean
  /** Whether it may run a command that its words do not show: a text, a script, or what only the shell knows. */
  readonly runs?: boolean
  readonly known?: KnownCall<Argument> | undefined
}

const isQuestion = (name: string, [first, ...others]: ReadonlyArray<Argument>): boolean =>
  first?.fixed === true && others.length === 0 &&
  (/^(?:--version|--help)$/.test(first.text) || /^(?:node|npm) -v$|^python[\d.]* -V$/.test(`${name} ${first.text}`))

/** Programs that print their version without looking at the project. The project's files may select other programs. */
const tellsVersion = (name: string): boolean =>
  tableFor(name)?.acts === false ||
  /^(?:git|npm|npx|node|python[\d.]*|bash|make|docker|gcc|g\+\+|clang|curl|wget|tar|perl|ruby|tmux|zip|gzip|ssh|sqlite3|java|php)$/
    .test(name)

/** Whether a package manager only lists what is installed, and contacts nobody for that. */
const isListing = ([program, sub, ...args]: ReadonlyArray<string>): boolean =>
  /^(?:npm (?:explain|la|list|ll|ls|prefix|root|why)|pip3? (?:check|freeze|list|show))$/.test(`${program} ${sub}`) &&
  args.every((each) =>
    /^(?:-[afglqv]|--(?:all|depth=\d+|files|json|local|long|parseable|user)|@?\w[\w./@-]*)$/.test(each)
  )

const unknownWord = (args: ReadonlyArray<Argument>): Risk => {
  const found = args.find(({ fixed, glob, output }) =>
    !fixed && output?.kind !== "word" && (glob === undefined || !isAnchored(glob))
  )
  return found === undefined ? undefined : `${found.source} is not known before it runs`
}

const findJudged = (args: ReadonlyArray<Argument>): Judged => {
  const { starts, unknown } = findCall(args)
  if (unknown !== undefined) {
    return { risk: `find ${unknown} may do more than to look`, reads: false, runs: !writing.test(unknown) }
  }
  const open = starts.find(({ fixed, glob }) => !fixed && glob === undefined)
  return {
    risk: open === undefined ? undefined : `${open.source} is not known before it runs`,
    reads: open === undefined
  }
}

/** A word that may turn out to name a subcommand or an option. */
const mayBeAny = (args: ReadonlyArray<Argument>): boolean =>
  args.some(({ fixed, glob, output, text }) =>
    !fixed && output?.kind !== "word" && (glob === undefined || !/[./]/.test(text))
  )

const gitJudged = (args: ReadonlyArray<Argument>, still: boolean, isPlain: boolean): Judged => {
  const { known, reads, risk, sub = "" } = gitCall(args)
  const found = risk ?? (known === undefined ? undefined : tableRisk(known, still))
  const isText = risk !== undefined && !/^(?:apply|worktree)$/.test(sub)
  const runs = isText || (found !== undefined && (known?.call.unknown !== undefined || mayBeAny(args)))
  return { risk: found, reads: reads && found === undefined && isPlain, runs: runs || !isPlain, known }
}

/** The risk of a program without a table: an argument that a wildcard must not cover. */
const openRisk = (name: string, args: ReadonlyArray<Argument>): Risk => {
  const option = findOption(args, options[name] ?? {})
  if (option !== undefined) return `${name} ${option} does more than it seems: it runs, writes or follows something`
  return inert.has(name) ? undefined : unknownWord(args)
}

const subcommandRisk = (name: string, args: ReadonlyArray<Argument>): Risk => {
  const sub = args.find(({ text }) => !text.startsWith("-"))?.text ?? ""
  const operands = knownCall(name, args)?.call.operands.map(({ text }) => text) ?? []
  const carried = carriedBy(name, operands) ?? runsMore[name]?.find((each) => each === sub)
  return carried === undefined ? undefined : `${name} ${carried} runs or changes more than this project says`
}

/** The short options by which such programs take a command or code, where those of others are not enough. */
const willingBy = lookup<RegExp>({ openssl: /config|[IeF]/, "ssh-add": /[IeFsS]/, "ssh-keygen": /[IeFDw]/ })

/** Whether a program that runs something only by an option may have been given one: few short ones take a command. */
const isWilling = (name: string, args: ReadonlyArray<Argument>): boolean =>
  args.some(({ text }) =>
    text.startsWith("-") && (!/^-[a-zA-Z0-9]*$/.test(text) || (willingBy[name] ?? /[IeF]/).test(text))
  )

/**
 * What a call does beyond its name, and whether it only reads. `still`: nothing in its line changes which files exist,
 * so a pattern's matches are the call's arguments.
 */
export const judge = (program: string, args: ReadonlyArray<Argument>, still: boolean): Judged => {
  const name = nameInTables(program)
  const isPlain = !program.includes("/")
  if (isQuestion(name, args) && isPlain && tellsVersion(name)) return { risk: undefined, reads: true }
  const words = [program, ...args.map(({ text }) => text)]
  const withBeginning = (risk: Risk, runs: boolean): Judged => {
    const beginning = beginningOf(words)
    return { risk, beginning, reads: false, runs: runs && beginning?.runs !== false }
  }
  if (name === "env" && args.length === 0) return { risk: undefined, reads: isPlain }
  if (name === "find") return findJudged(args)
  if (name === "xargs") return xargsJudged(args)
  if (isPlain && isListing(words) && args.every(({ fixed }) => fixed)) return { risk: undefined, reads: true }
  const before = subcommandRisk(name, args)
  if (before !== undefined) return withBeginning(before, true)
  const ownRisk = builtinRisks.get(name) ?? ownRisks.get(name)
  const own = ownRisk?.(args)
  if (own !== undefined) {
    const runs = ownRisk !== packerRisk && ownRisk !== dateRisk &&
      (ownRisk !== sedRisk || sedRisk(notInPlace(args)) !== undefined)
    return { risk: own, reads: false, runs }
  }
  if (name === "git") return gitJudged(args, still, isPlain)
  const known = knownCall(program, args)
  if (known !== undefined) {
    const risk = tableRisk(known, still)
    const runs = !isPlain || known.call.unknown !== undefined || (risk !== undefined && mayBeAny(args))
    return { risk, reads: risk === undefined && !known.table.acts && isPlain, runs, known }
  }
  if (hasSubcommands(name)) return withBeginning(`${name} ${args[0]?.text ?? ""} may run other programs`, true)
  if (isInterpreter(name)) {
    return withBeginning(`${name} runs what it is given`, !willing.has(name) || isWilling(name, args))
  }
  const option = findOption(args, options[name] ?? {})
  const risk = openRisk(name, args)
  return risk === undefined
    ? { risk, reads: isPlain && readingBuiltins.has(name), runs: !isPlain }
    : withBeginning(risk, option === undefined || !writing.test(option))
}

/** Whether these lists say by which options a program runs something. */
export const isListed = (name: string): boolean => options[name] !== undefined || ownRisks.has(name)

/** Whether a program is known to run its arguments. */
export const runsWhatItIsGiven = (program: string): boolean =>
  program === "find" || isInterpreter(program.slice(program.lastIndexOf("/") + 1))
