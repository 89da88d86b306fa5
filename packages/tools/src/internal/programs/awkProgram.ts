/** Knows the programs of awk that have no way to write, to run, or to choose what they read. */

/** Conditions in parentheses, in which `>` compares. */
const condition = /\b(?:if|while)\s*\([^()"'/{}#\n\\]*\)/g

/** Whether a program only reads what it is given, and prints. */
export const isReadingProgram = (program: string): boolean => {
  if (/@|system|getline|close|fflush|ARG[VC]|ENVIRON|PROCINFO|\binclude\b|\bload\b/.test(program)) return false
  // Before its first brace a program only compares; what stands in quotes there may hold a brace.
  const [before = ""] = program.split("{", 1)
  const compares = /["/]/.test(before) ? before : before.replaceAll(">", "")
  const rest = compares + program.slice(before.length).replace(condition, "")
  return !/>|\|/.test(rest.replaceAll("||", ""))
}
