/** Decides which variables a command line may set without that changing what its commands are or do. */

/** What changes at most how a program speaks. */
const spoken = new Set([
  "CI",
  "CLICOLOR",
  "CLICOLOR_FORCE",
  "COLUMNS",
  "DEBIAN_FRONTEND",
  "FORCE_COLOR",
  "LANG",
  "LINES",
  "NODE_ENV",
  "NO_COLOR",
  "PYTHONDONTWRITEBYTECODE",
  "PYTHONUNBUFFERED",
  "RUST_BACKTRACE",
  "TZ"
])

/** Whether a program may be given this variable: any other may name what it runs, loads or believes. */
export const isHarmlessToPrograms = (name: string): boolean => spoken.has(name) || /^LC_[A-Z]+$/.test(name)

/** What the C library, the shell, git and the programs that only read go by. */
const knownToReaders =
  /^(?:_|LD_|DYLD_|GLIBC_|MALLOC_|GCONV|GETCONF|LOC|NLSPATH|LANGUAGE|OUTPUT_CHARSET|RES|HOST|TZDIR|TMP|TEMP|HOME|PATH|IFS|ENV|BASH|SH|PS\d|PROMPT|CDPATH|GLOB|POSIX|XDG|GIT|SSH|GPG|GNUPG|PAGER|LESS|MORE|LV|EDITOR|VISUAL|BROWSER|RIPGREP|GREP|FD|BAT|AWK|GAWK|JQ|LS|TERM|TIME|QUOTING|BLOCK|DF_|DU_|NODE|PYTHON|PERL|RUBY|NPM|MAN|FPATH|HIST|MAIL|OPT|DIR|EUID|UID|FUNC|TMOUT|COPROC|MAPFILE|READLINE|REPLY|RANDOM|SECONDS|LINENO|PIPE|SRANDOM|EPOCH|COMP|EXEC|FCEDIT|FIGNORE|INPUTRC|INSIDE|MACHTYPE|OSTYPE|OLDPWD|PWD|PPID|MAGIC|SIMPLE_|VERSION_|CURL|SSL|MEMUSAGE|PCPROFILE|SOTRUSS|NIS|DATEMSK|OMP|USER|LOGNAME|CHILD_MAX|JAVA|GO|CARGO|RUST|LIB|ASAN|LSAN|MSAN|UBSAN|TREE|ACK|AG)|PROXY/i

/** Whether a program that only reads may be given this variable: none of them knows it. */
export const isUnknownToReaders = (name: string): boolean => !knownToReaders.test(name)

/**
 * Whether the shell itself may set this variable. Names in capitals may be known to the shell, or be in its environment and
 * so be handed on.
 */
export const isHarmlessToShell = (name: string): boolean =>
  isHarmlessToPrograms(name) || (/^[a-z][a-z0-9_]*$/.test(name) && !/proxy|^npm_/.test(name))
