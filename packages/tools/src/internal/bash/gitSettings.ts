/** Lists the repository settings that run no program. Any other setting may, in this version of git or in the next. */

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
export const isHarmlessSetting = (key: string, value: string, compares: boolean): boolean =>
  (!compares && comparing.test(key)) || harmless.some((each) => each.test(key)) ||
  byValue.some(([name, known]) => name.test(key) && known.test(value))

/** Whether an address is on another machine, so that git runs no hook of a local repository. */
export const isRemoteAddress = (address: string): boolean =>
  /^(?:https?|ssh|git|git\+ssh):\/\/[\w[]/.test(address) ||
  /^(?:[\w.-]+@)?[\w][\w.-]*:(?![:\\]|\/\/)[^]+$/.test(address)
