/**
 * Knows the programs that run others, or write by a flag, and with which arguments they do: what no wildcard allows. A
 * program that is not named here does what its name says, and that is what a rule allows.
 */
import { builtinRisks } from "./builtinRisks.ts"
import { gitRisk } from "./gitRisk.ts"
import { findOption, type Options } from "./options.ts"
import { awkRisk, findRisk, type Risk, sedRisk } from "./textRisks.ts"
import type { Argument } from "./words.ts"

/** Programs that run what they are given: code, commands, or what a file of theirs says. */
const interpreters = new Set(
  `. alias ash at atq bash batch bind bun busybox chroot cmake coproc compgen complete crontab csh dash dd deno docker doas ed emacs
  enable entr env eval ex exec expect fc fish flock gdb getopts ghci groovy guile hash history irb java jobs jrunscript
  jshell ksh launchctl less let lldb ltrace lua luajit man mapfile mksh more nano nc ncat node nodejs nsenter nvim
  ocaml osascript parallel perf perl php pkexec podman powershell pwsh py pypy pypy3 python python2 python3 R readarray rlwrap
  rsync Rscript ruby runcon run-parts scala scp screen script sftp sh shopt sleep-until socat source split csplit ssh
  start-stop-daemon stdbuf strace su sudo swift systemctl systemd-run tar tclsh tcpdump telnet tmux toybox trap ts-node tsx
  unalias unshare unzip valgrind vi view vim visudo watch wish xargs xterm zip zsh`.split(/\s+/)
)

const options: Readonly<Record<string, Options>> = {
  ack: { long: ["pager", "output"] },
  ag: { long: ["pager"] },
  base64: { short: "o", long: ["output"] },
  cargo: { long: ["config"], words: ["run", "install"] },
  date: { short: "s", long: ["set"] },
  diff: { short: "lr", long: ["paginate", "recursive"] },
  fd: { short: "xX", long: ["exec", "exec-batch"] },
  fdfind: { short: "xX", long: ["exec", "exec-batch"] },
  file: { short: "CmzZS", long: ["compile", "magic-file", "uncompress", "uncompress-noreport", "no-sandbox"] },
  go: { words: ["run", "generate", "-exec", "-toolexec", "-vettool", "tool"] },
  grep: { short: "R", long: ["dereference-recursive"] },
  iconv: { short: "o", long: ["output"] },
  make: { short: "fCIEW", long: ["directory", "eval", "file", "include-dir", "makefile"] },
  npm: {
    words: ["exec", "x", "init", "create", "config", "set", "explore"],
    long: ["script-shell", "node-options", "prefix", "userconfig", "globalconfig"]
  },
  pip: { long: ["global-option", "config-settings"] },
  pnpm: { words: ["dlx", "exec", "create", "config"] },
  rg: { short: "zL", long: ["pre", "hostname-bin", "search-zip", "follow"] },
  shuf: { short: "o", long: ["output"] },
  sort: { short: "oT", long: ["output", "compress-program", "temporary-directory", "files0-from"] },
  tree: { short: "oR", words: [] },
  wget: { short: "OoaiePB", long: ["output-document", "use-askpass", "execute", "config", "input-file"] },
  xmllint: { short: "o", long: ["output"] },
  xxd: { short: "r" },
  yarn: { words: ["dlx", "exec", "create", "config", "node"] },
  yq: { short: "i", long: ["inplace", "in-place"] }
}

/** Programs that fetch a program and run it. */
const fetchers = new Set(["npx", "bunx", "uvx", "pipx", "pnpx", "corepack"])

/** Programs of which the second operand is what they write. */
const writesSecond = new Set(["uniq", "xxd"])

/** Programs whose arguments are only text to them, whatever the shell makes of it. */
const inert = new Set([
  ":",
  "echo",
  "false",
  "true",
  "[",
  "test",
  "printf",
  "exit",
  "return",
  "export",
  "declare",
  "local"
])

/** What of curl only says how it asks and how much it tells; it has many more ways to write and to send files. */
const curlRisk = (args: ReadonlyArray<Argument>): Risk => {
  const plain =
    /^-(?:[sSfLiIvkgqXHAm46]+|-(?:silent|show-error|fail|location|include|head|verbose|compressed|request|header|user-agent|max-time|connect-timeout|retry|url)(?:=.*)?)$/s
  const found = args.find(({ text }) => /^-./.test(text) && !plain.test(text))
  return found === undefined ? undefined : `curl ${found.text} may write or send a file`
}

/** npm knows its commands by their beginnings too. */
const npmRisk = (args: ReadonlyArray<Argument>): Risk => {
  const name = args.find(({ text }) => !text.startsWith("-"))?.text ?? ""
  const found = name.length > 1 &&
    ["exec", "explore", "init", "innit", "create", "config", "set"].some((each) => each.startsWith(name))
  return found ? `npm ${name} runs or changes more than this project says` : undefined
}

const textLanguages: ReadonlyMap<string, (args: ReadonlyArray<Argument>) => Risk> = new Map([
  ["awk", awkRisk],
  ["curl", curlRisk],
  ["find", findRisk],
  ["gawk", awkRisk],
  ["mawk", awkRisk],
  ["nawk", awkRisk],
  ["npm", npmRisk],
  ["sed", sedRisk]
])

/** A program by its plain name; that of an interpreter may end in a version. */
const isInterpreter = (program: string): boolean =>
  interpreters.has(program) || fetchers.has(program) || /^(?:python|perl|ruby|lua|php|node|pypy)[\d.]+$/.test(program)

/** What a call does more than its name says, which no wildcard allows. `moved`: it may stand in another directory. */
export const riskOf = (program: string, args: ReadonlyArray<Argument>, moved: boolean): Risk => {
  const name = program.slice(program.lastIndexOf("/") + 1)
  if (isInterpreter(name)) return `${name} runs what it is given`
  const own = builtinRisks.get(name) ?? textLanguages.get(name)
  const found = own?.(args) ?? (name === "git" ? gitRisk(args, moved) : undefined)
  if (found !== undefined) return found
  const option = findOption(args, options[name] ?? {})
  if (option !== undefined) return `${name} ${option} does more than it seems: it runs, writes or follows something`
  if (name === "make" && args.some(({ text }) => text.includes("="))) return "make may be given another shell"
  if (writesSecond.has(name) && args.filter(({ text }) => !/^-./.test(text)).length > 1) {
    return `${name} may write a file`
  }
  const unknown = inert.has(name) ? undefined : args.find(({ fixed }) => !fixed)
  return unknown === undefined ? undefined : `${unknown.source} is not known before it runs`
}

/** Whether a program is known to run what it is given. */
export const runsWhatItIsGiven = (program: string): boolean =>
  program === "find" || isInterpreter(program.slice(program.lastIndexOf("/") + 1))
