/**
 * Decides when the text of an argument does more than it seems: as a variable that others depend on, as a program of
 * `sed` or `awk`, or as an argument of a builtin.
 */
import type { Argument } from "./words.ts"

/** At most changes the language of a program's output. */
const spoken = new Set(
  `CI CLICOLOR CLICOLOR_FORCE COLUMNS DEBIAN_FRONTEND FORCE_COLOR LINES NODE_ENV NO_COLOR PYTHONDONTWRITEBYTECODE
  PYTHONUNBUFFERED RUST_BACKTRACE`.split(/\s+/)
)

/** The value of an assignment as written, without quotes around it. */
const valueOf = (source: string): string => source.replace(/^[^=]*=?/, "").replace(/^(["'])(.*)\1$/s, "$2")

/** Whether a program may get this variable. Any other may name something that it runs, loads or trusts. */
export const isHarmlessToPrograms = (name: string, source: string): boolean => {
  // A locale or a time zone may name a file.
  if (name === "TZ") return /^(?:[A-Za-z][\w+-]*(?:\/[A-Za-z][\w+-]*){0,2})?$/.test(valueOf(source))
  if (name === "LANG" || /^LC_[A-Z]+$/.test(name)) return /^(?:\w[\w@-]*(?:\.[\w-]+(?:@\w+)?)?)?$/.test(valueOf(source))
  return spoken.has(name)
}

/** The variables that the C library, the shell, git and programs that only read depend on. */
const knownToReaders =
  /^(?:_|LD_|DYLD_|GLIBC_|MALLOC_|GCONV|GETCONF|LOC|NLSPATH|LANG|LC_|TZ|OUTPUT_CHARSET|RES|HOST|TMP|TEMP|HOME|PATH|IFS|ENV|BASH|SH|PS\d|PROMPT|CDPATH|GLOB|POSIX|XDG|GIT|SSH|GPG|GNUPG|PAGER|LESS|MORE|LV|EDITOR|VISUAL|BROWSER|RIPGREP|GREP|FD|BAT|AWK|GAWK|JQ|LS|TERM|TIME|QUOTING|BLOCK|DF_|DU_|NODE|PYTHON|PERL|RUBY|NPM|MAN|FPATH|HIST|MAIL|OPT|DIR|EUID|UID|FUNC|TMOUT|COPROC|MAPFILE|READLINE|REPLY|RANDOM|SECONDS|LINENO|PIP|SRANDOM|EPOCH|COMP|EXEC|FCEDIT|FIGNORE|INPUTRC|INSIDE|MACHTYPE|OSTYPE|OLDPWD|PWD|PPID|MAGIC|SIMPLE_|VERSION_|CURL|SSL|MEMUSAGE|PCPROFILE|SOTRUSS|NIS|DATEMSK|OMP|USER|LOGNAME|CHILD_MAX|JAVA|GO|CARGO|RUST|LIB|ASAN|LSAN|MSAN|UBSAN|TREE|ACK|AG)|PROXY/i

/** Whether a program that only reads may get this variable, because none of them uses it. */
export const isUnknownToReaders = (name: string): boolean => !knownToReaders.test(name)

/**
 * The variables that build, test and deployment tools depend on, and words that mark a variable as a program or a
 * place.
 */
const knownToTools =
  /^(?:CC|CPP|CXX|LD|AR|AS|NM|M4|LEX|YACC|TEX)$|^(?:ANDROID|ANT_|ANSIBLE|AWS|AZURE|BABEL|BUILDKIT|BUN|CCACHE|CGO|CI_|CLANG|CLOUD|CMAKE|COMPOSE|CONDA|COREPACK|COVERAGE|CTEST|CYPRESS|DENO|DISPLAY|DJANGO|DOCKER|DOTNET|ELECTRON|ERL|ESBUILD|ESLINT|FLASK|GCC|GCP|GEM|GH_|GITHUB|GITLAB|GOOGLE|GRADLE|GULP|HELM|JDK|JEST|JULIA|KOTLIN|KUBE|MAKE|MAVEN|MESON|MOCHA|MSBUILD|MVN|MYPY|NINJA|NUGET|NX_|NYC|PG|PHP|PIP|PLAYWRIGHT|PNPM|POETRY|PRETTIER|PROMPT|PUPPETEER|QT_|RACK|RAILS|RAKE|ROLLUP|RUFF|SBT|SCALA|SKEIN|STACK|SVN|SWIFT|SWC|TERRAFORM|TF_|TOX|TS_|TSX|TURBO|UV|VIRTUAL|VITE|WAYLAND|WEBPACK|WGET|YARN|ZSH)|ADDRESS|AGENT|ARG|ASKPASS|BIN|BUNDLE|CMD|COMMAND|COMPILER|CONF|DIR|EDITOR|ENDPOINT|ENV|EVAL|EXEC|FILE|FLAG|HOME|HOOK|HOST|IMPORT|INCLUDE|INDEX|INIT|INTERPRET|KEY|LAUNCH|LIBRAR|LINKER|LOADER|MIRROR|MODULE|OPT|PAGER|PARAM|PASS|PATH|PLUGIN|PREFIX|PRELOAD|PROGRAM|PYTHON|REGISTRY|REQUIRE|ROOT|RUN|SCRIPT|SECRET|SERVER|SHELL|SOCK|SOURCE|SUFFIX|TARGET|TOKEN|TOOL|URI|URL|WRAP/i

/**
 * Whether a program that a rule allows may get this variable: no known tool reads it, and its value is a plain word, so
 * that at most a script of the project can depend on it.
 */
export const isUnknownToTools = (name: string, source: string): boolean =>
  isUnknownToReaders(name) && !knownToTools.test(name) && /^(?:[\w.,:@%+*][\w.,:@%+*-]*)?$/.test(valueOf(source))

/**
 * Whether the shell itself may set this variable. Names in capitals may be special to the shell, or be exported because
 * they are in its environment.
 */
export const isHarmlessToShell = (name: string, source: string): boolean =>
  isHarmlessToPrograms(name, source) || (/^[a-z][a-z0-9_]*$/.test(name) && !/proxy|^npm_/.test(name))

/** The rest of a script after one piece; `undefined` if there is no such piece. */
type Rest = string | undefined

/** Skips text up to a delimiter without a backslash before it. */
const upTo = (text: string, delimiter: string): Rest => {
  for (let at = 0; at < text.length; at++) {
    const sign = text.charAt(at)
    // If brackets contain a delimiter, programs disagree about where the text ends.
    if (sign === "\n" || (sign === "[" && text.slice(at, text.indexOf("]", at + 2) + 1).includes(delimiter))) {
      return undefined
    }
    if (sign === "\\") at++
    else if (sign === delimiter) return text.slice(at + 1)
  }
  return undefined
}

const address = (text: string): Rest => {
  const number = /^(?:\d+(?:~\d+)?|\$)/.exec(text)
  if (number !== null) return text.slice(number[0].length)
  const rest = text.startsWith("/") ? upTo(text.slice(1), "/") : undefined
  return rest?.replace(/^[IM]+/, "")
}

const addresses = (text: string): Rest => {
  const first = address(text)
  if (first === undefined) return text
  const comma = /^\s*,\s*[+~]?/.exec(first)
  return comma === null ? first : address(first.slice(comma[0].length))
}

/** `s` and `y`: two texts between delimiters. `s` may have flags that only select what is replaced and printed. */
const replacement = (text: string, flags: RegExp): Rest => {
  const delimiter = text.charAt(0)
  if (delimiter === "" || /[\s\\\w]/.test(delimiter)) return undefined
  const first = upTo(text.slice(1), delimiter)
  const second = first === undefined ? undefined : upTo(first, delimiter)
  return second?.replace(flags, "")
}

const piece = (text: string): Rest => {
  const rest = addresses(text)?.replace(/^\s*!?\s*/, "") ?? ""
  const name = rest.charAt(0)
  if (name === "s") return replacement(rest.slice(1), /^[gpiI0-9]*/)
  if (name === "y") return replacement(rest.slice(1), /^/)
  if ("qQ".includes(name) && name !== "") return rest.slice(1).replace(/^\s*\d*/, "")
  return "pdDnNgGhHxPl=".includes(name) && name !== "" ? rest.slice(1) : undefined
}

/** Whether a script only reads its input and writes to its output. */
const isReadingScript = (script: string): boolean => {
  let rest = script.replace(/^[\s;]+/, "")
  while (rest !== "") {
    const left = piece(rest)
    if (left === undefined || !/^\s*(?:[;\n]|$)/.test(left)) return false
    rest = left.replace(/^[\s;]+/, "")
  }
  return true
}

/** Conditions in parentheses, in which `>` compares. */
const condition = /\b(?:if|while)\s*\([^()"'/{}#\n\\]*\)/g

/** Whether a program only reads its input, and prints. */
const isReadingProgram = (program: string): boolean => {
  if (/@|system|getline|close|fflush|ARG[VC]|ENVIRON|PROCINFO|\binclude\b|\bload\b/.test(program)) return false
  // Before its first brace, a program only compares. A quoted text there may contain a brace.
  const [before = ""] = program.split("{", 1)
  const compares = /["/]/.test(before) ? before : before.replaceAll(">", "")
  const rest = compares + program.slice(before.length).replace(condition, "")
  return !/>|\|/.test(rest.replaceAll("||", ""))
}

/** Why a call does more than it seems to; `undefined` if it does not. */
export type Risk = string | undefined

/** sed with options that only control reading, and scripts that only read. */
export const sedRisk = (args: ReadonlyArray<Argument>): Risk => {
  const scripts: Array<string> = []
  const others: Array<string> = []
  for (let at = 0; at < args.length; at++) {
    const text = args[at]?.text ?? ""
    if (text === "-e" || /^-[nErsuz]+e$/.test(text)) scripts.push(args[++at]?.text ?? "")
    else if (/^-(?:[nErsuz]+|-(?:quiet|silent|regexp-extended|separate|unbuffered|null-data))$/.test(text)) continue
    else if (/^-./.test(text)) return `sed ${text} may write or run something`
    else others.push(text)
  }
  if (scripts.length === 0) scripts.push(...others.slice(0, 1))
  return scripts.every(isReadingScript) ? undefined : "this script of sed may write or run something"
}

/** awk with a program that cannot write, run commands, or choose its input. */
export const awkRisk = (args: ReadonlyArray<Argument>): Risk => {
  const at = args.findIndex(({ text }, index) => !/^-[Fv]/.test(text) && !/^-[Fv]$/.test(args[index - 1]?.text ?? ""))
  const program = args[at]
  if (program === undefined) return undefined
  if (program.text.startsWith("-")) return `awk ${program.text} may run something`
  return program.fixed && isReadingProgram(program.text) ? undefined : "this program of awk may write or run something"
}

const every = (args: ReadonlyArray<Argument>, plain: RegExp): boolean =>
  args.every(({ fixed, text }) => fixed && plain.test(text))

const named = (args: ReadonlyArray<Argument>, harmless: (name: string, source: string) => boolean): boolean =>
  args.every(({ fixed, text }) => {
    const name = /^([A-Za-z_][A-Za-z0-9_]*)(?:$|="[^"]*"$|=[^$`]*$)/.exec(text)?.[1]
    return fixed && name !== undefined && harmless(name, text)
  })

const when = (harmless: boolean, risk: string): Risk => harmless ? undefined : risk

const unary = /^-[abcdefghkLNnOprsStuwxz]$/

const binary = /^(?:==?|!=|<|>|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef))$/

/** Whether a word is exactly one argument, whatever it contains. */
const isOne = ({ source }: Argument): boolean => /^"[^"@*]*"$/.test(source)

/** `test` and `[`: an operand that only the shell knows may turn out to be an operator, which runs what follows it. */
const testRisk = (args: ReadonlyArray<Argument>): Risk => {
  if (args.some(({ text }) => /^-[vR]$/.test(text))) return "test -v may run what a name holds"
  const open = args.filter(({ fixed }) => !fixed)
  if (open.length === 0) return undefined
  if (!open.every(isOne)) return "test may be given more words than one sees"
  const operands = args.at(-1)?.text === "]" ? args.slice(0, -1) : args
  const [first, second, , fourth] = operands[0]?.text === "!" ? operands.slice(1) : operands
  const known = (argument: Argument | undefined, operator: RegExp) =>
    argument !== undefined && argument.fixed && operator.test(argument.text)
  return when(
    fourth === undefined && (known(first, unary) || known(second, binary)),
    "test may be given an operator that nobody sees"
  )
}

const settingRisk = (harmless: (name: string, source: string) => boolean) => (args: ReadonlyArray<Argument>): Risk =>
  when(named(args, harmless), "it sets or changes variables that others go by")

const printfRisk = ([first]: ReadonlyArray<Argument>): Risk =>
  when(
    first === undefined || (first.fixed && !first.text.startsWith("-")) || first.text === "--",
    "printf may set a variable"
  )

const wordRisk = (plain: RegExp, risk: string) => (args: ReadonlyArray<Argument>): Risk =>
  when(every(args, plain), risk)

/** For each builtin that may run something: the reason why a call is not harmless. */
export const builtinRisks: ReadonlyMap<string, (args: ReadonlyArray<Argument>) => Risk> = new Map([
  ["[", testRisk],
  ["declare", settingRisk(isHarmlessToShell)],
  ["export", settingRisk((name, source) => isHarmlessToPrograms(name, source) || isUnknownToTools(name, source))],
  ["local", settingRisk(isHarmlessToShell)],
  ["printf", printfRisk],
  ["read", wordRisk(/^(?:-r|[a-z][a-z0-9_]*)$/, "read may set what it should not, or run an index")],
  ["readonly", settingRisk(isHarmlessToShell)],
  ["set", wordRisk(/^(?:[-+][eux]+o?|pipefail|errexit|nounset)$/, "set changes how the rest is run")],
  ["test", testRisk],
  ["typeset", settingRisk(isHarmlessToShell)],
  ["unset", wordRisk(/^(?:-v|[a-z][a-z0-9_]*)$/, "unset may run an index")],
  ["wait", wordRisk(/^(?:-n|-f|\d+|%\d+)$/, "wait may set a variable")]
])
