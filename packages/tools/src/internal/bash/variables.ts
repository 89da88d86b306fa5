/** Decides which variables a command line may set without changing what its commands are or do. */

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
