/**
 * Knows the programs that run others, or write by a flag, and with which arguments they do: what no wildcard allows. A
 * program that is not named here does what its name says, and that is what a rule allows.
 */
import { builtinRisks } from "./builtinRisks.ts"
import { gitRisk } from "./gitRisk.ts"
import { isAnchored } from "./glob.ts"
import { findOption, type Options } from "./options.ts"
import { awkRisk, findRisk, type Risk, sedRisk } from "./textRisks.ts"
import type { Argument } from "./words.ts"

/** Programs that run what they are given: code, commands, or what a file of theirs says. */
const interpreters = new Set(
  `. 7z 7za alias ansible aria2c ash at atq bash batch bind bsdtar bun busctl busybox bwrap bzless catchsegv chroot chrt chronic
  clisp cmake convert coproc compgen complete cpio crontab csh ctr cvs dash dbus-run-session dbus-send dc dd deno docker doas ed
  elinks elixir elvish emacs enable entr env erl escript eval ex exec expect fakeroot fc firejail fish flock fossil fzf gdb gdbus
  getopts ghci gnuplot gpg gpg2 groff groovy gs gtar guile hash hg history ifne info irb java jbang jobs jrunscript jshell julia ksh
  latex latexmk launchctl ldd less let links lldb logsave ltrace lua luajit lualatex lynx lzless m4 machinectl magick mail mailx man
  mapfile mariadb mksh mogrify mono more most mutt mysql nano nc ncat nerdctl newgrp nix nix-shell node nodejs nodemon nsenter nu
  numactl nvim ocaml octave open openssl openvpn osascript pandoc parallel patch pax pdflatex pdftex pee perf perl pg php pkexec
  podman powershell prename prlimit psql pwsh py pypy pypy3 python python2 python3 R racket readarray rename rlwrap rsync Rscript ruby
  run0 runcon run-parts runuser sbcl scala scp screen script sftp sg sh shopt sk sleep-until socat source split csplit sqlite sqlite3
  ssh ssh-add ssh-agent ssh-copy-id ssh-keygen start-stop-daemon stdbuf strace su sudo svn swift systemctl systemd-run tar taskset tclsh
  tcpdump telnet tex tmux toybox trap troff ts-node tsx unalias unbuffer unrar unshare unzip valgrind vi view vim visudo w3m watch
  watchexec wine wish xargs xdg-open xelatex xonsh xsltproc xterm xvfb-run xzless yash zip zless zmore zsh`.split(/\s+/)
)

const options: Readonly<Record<string, Options>> = {
  ack: { long: ["pager", "output"] },
  ag: { long: ["pager"] },
  b2sum: { short: "c", long: ["check"] },
  bat: { long: ["pager"] },
  base64: { short: "o", long: ["output"] },
  bundle: { words: ["exec"] },
  cargo: { long: ["config"], words: ["run", "install"] },
  cksum: { short: "c", long: ["check"] },
  conda: { words: ["run"] },
  cp: { short: "ls", long: ["link", "symbolic-link"] },
  date: { short: "sf", long: ["set", "file"] },
  diff: { short: "lr", long: ["paginate", "recursive"] },
  diff3: { long: ["diff-program"] },
  du: { short: "LD", long: ["dereference", "dereference-args", "files0-from"] },
  fd: { short: "xXL", long: ["exec", "exec-batch", "follow"] },
  fdfind: { short: "xXL", long: ["exec", "exec-batch", "follow"] },
  file: {
    short: "CfmzZS",
    long: ["compile", "files-from", "magic-file", "uncompress", "uncompress-noreport", "no-sandbox"]
  },
  gh: { words: ["alias", "extension", "extensions", "ext", "config", "codespace", "cs"] },
  go: { words: ["run", "generate", "tool"], starts: ["-exec", "-toolexec", "-vettool", "-overlay", "-C"] },
  gradle: { short: "Ibp", long: ["init-script", "build-file", "project-dir"] },
  grep: { short: "R", long: ["dereference-recursive"] },
  iconv: { short: "o", long: ["output"] },
  install: { short: "s", long: ["strip", "strip-program"] },
  ip: { words: ["netns", "vrf"], starts: ["-b"] },
  jq: { short: "fL", long: ["from-file", "library-path"] },
  kubectl: { words: ["exec", "plugin", "cp", "edit", "debug", "run", "config"], long: ["kubeconfig"] },
  ln: { short: "s", long: ["symbolic"] },
  ls: { short: "L", long: ["dereference"] },
  make: { short: "fCIEW", long: ["directory", "eval", "file", "include-dir", "makefile"] },
  md5sum: { short: "c", long: ["check"] },
  mvn: { short: "f", long: ["file"] },
  npm: {
    short: "C",
    words: ["exec", "x", "init", "create", "config", "set", "explore"],
    long: ["script-shell", "node-options", "prefix", "userconfig", "globalconfig"]
  },
  pip: { long: ["global-option", "config-settings"] },
  pipenv: { words: ["run", "shell"] },
  pnpm: { words: ["dlx", "exec", "create", "config"], short: "C", long: ["dir"] },
  poetry: { words: ["run", "shell"] },
  prettier: { short: "w", long: ["write", "config", "plugin"] },
  ptx: { short: "G", long: ["traditional"] },
  rg: { short: "zL", long: ["pre", "hostname-bin", "search-zip", "follow"] },
  rustup: { words: ["run"] },
  sdiff: { short: "o", long: ["output", "diff-program"] },
  sha1sum: { short: "c", long: ["check"] },
  sha224sum: { short: "c", long: ["check"] },
  sha256sum: { short: "c", long: ["check"] },
  sha384sum: { short: "c", long: ["check"] },
  sha512sum: { short: "c", long: ["check"] },
  shuf: { short: "o", long: ["output"] },
  sort: { short: "oT", long: ["output", "compress-program", "temporary-directory", "files0-from"] },
  tree: { short: "oRl", long: ["fromfile"] },
  uv: { words: ["run", "tool"] },
  wc: { long: ["files0-from"] },
  wget: {
    short: "OoaiePB",
    long: ["output-document", "use-askpass", "execute", "config", "input-file", "post-file", "body-file"]
  },
  xmllint: { short: "o", long: ["output"] },
  xxd: { short: "r" },
  yarn: { words: ["dlx", "exec", "create", "config", "node"], long: ["cwd"] },
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

/** jq reads modules from wherever its program says. */
const jqRisk = (args: ReadonlyArray<Argument>): Risk =>
  args.some(({ text }) => /\b(?:import|include)\b/.test(text)) ? "jq may read modules from elsewhere" : undefined

/** What a compiler loads or runs beside itself. */
const compilerRisk = (args: ReadonlyArray<Argument>): Risk => {
  const found = args.find(({ text }) => /^(?:@|-(?:wrapper|fplugin|B|specs|plugin|load|Xclang|Wl,|Wa,))/.test(text))
  return found === undefined ? undefined : `${found.text} may make the compiler run or load something`
}

/** date sets the clock to an operand that is no format. */
const dateRisk = (args: ReadonlyArray<Argument>): Risk =>
  args.some(({ text }) => /^\d{8,}(?:\.\d+)?$/.test(text)) ? "date may set the clock" : undefined

const textLanguages: ReadonlyMap<string, (args: ReadonlyArray<Argument>) => Risk> = new Map([
  ["awk", awkRisk],
  ["c++", compilerRisk],
  ["cc", compilerRisk],
  ["clang", compilerRisk],
  ["clang++", compilerRisk],
  ["curl", curlRisk],
  ["date", dateRisk],
  ["find", findRisk],
  ["g++", compilerRisk],
  ["gawk", awkRisk],
  ["gcc", compilerRisk],
  ["jq", jqRisk],
  ["ld", compilerRisk],
  ["mawk", awkRisk],
  ["nawk", awkRisk],
  ["npm", npmRisk],
  ["sed", sedRisk]
])

/** A program by its plain name; that of an interpreter may end in a version. */
export const isInterpreter = (program: string): boolean =>
  interpreters.has(program) || fetchers.has(program) || /^(?:python|perl|ruby|lua|php|node|pypy)[\d.]+$/.test(program)

/** Programs of which no option does more than to read, so that a name of a file may be taken for one. */
const calm = new Set(
  `cat cmp comm cut fold grep egrep fgrep head md5sum nl od paste readlink realpath rev sha1sum sha256sum sha512sum
  stat strings sum tac tail wc`.split(/\s+/)
).add("ls")

/** Programs of which the first operand is code. */
const codeFirst = new Set(["awk", "gawk", "jq", "mawk", "nawk", "sed"])

/** Which arguments a program may be given that stand for files: to it, it does not matter which files there are. */
const takesFiles = (name: string, args: ReadonlyArray<Argument>): (argument: Argument, at: number) => boolean => {
  const first = codeFirst.has(name) ? args.findIndex(({ text }) => !text.startsWith("-")) : -1
  return ({ glob }, at) =>
    glob !== undefined && at !== first && !writesSecond.has(name) && (calm.has(name) || isAnchored(glob))
}

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
  const mayTake = takesFiles(name, args)
  const unknown = inert.has(name)
    ? undefined
    : args.find((argument, at) => !argument.fixed && !mayTake(argument, at))
  return unknown === undefined ? undefined : `${unknown.source} is not known before it runs`
}

/** Whether a program is known to run what it is given. */
export const runsWhatItIsGiven = (program: string): boolean =>
  program === "find" || isInterpreter(program.slice(program.lastIndexOf("/") + 1))
