// @ts-check
// Turns of phrase that read as if translated, and what plain English says instead. scripts/prose.mjs reads this table.

/** @type {ReadonlyArray<{ readonly found: RegExp, readonly instead: string }>} */
export const calques = [
  {
    found: /\b(?:is|are|was|were|be|been|being) (?:also |not |never |only )?told of\b/i,
    instead: "write: is notified of, sees, gets"
  },
  { found: /\bg(?:o|oes|oing|one|ot) on with\b/i, instead: "write: continue, resume" },
  { found: /\bwhom nobody\b|\bwho(?:m)? nobody\b/i, instead: "name the state, such as abandoned" },
  { found: /\bnobody waits for\b/i, instead: "write: abandoned, detached" },
  { found: /\bfor good\b/i, instead: "write: permanently" },
  { found: /\bby chance\b/i, instead: "write: at random, randomly" },
  { found: /\bin vain\b/i, instead: "write: without effect, failed" },
  { found: /\bsaid aloud\b|\bsaid once\b/i, instead: "write: reported, with a warning" },
  { found: /\bof (?:one|its|their|your|a caller)'?s? (?:own )?making\b/i, instead: "write: your own, custom" },
  { found: /\bof one's own\b|\bone's own\b/i, instead: "write: your own, custom" },
  { found: /\bnothing fits\b/i, instead: "write: no matches for" },
  { found: /\bchoose and forbid\b/i, instead: "write: can only restrict" },
  { found: /\bwithout further ado\b/i, instead: "leave it out" },
  { found: /\bwhat becomes of\b|\bwhat became of\b/i, instead: "write: what happens to, the outcome" },
  { found: /\bcome(?:s)? to (?:its|their|an) end\b/i, instead: "write: ends, finishes" },
  { found: /\bcame to nothing\b/i, instead: "write: failed, produced nothing" },
  { found: /\bgets into line\b|\bstands? in one line\b/i, instead: "write: queues" },
  { found: /\bby its own leave\b|\bby the (?:\w+'s )?own leave\b/i, instead: "write: on its own authority" },
  { found: /\bis (?:gone|left) to (?:it|them)\b/i, instead: "say who does it" },
  { found: /\bput(?:s)? (?:them )?aside\b/i, instead: "write: moved away" },
  { found: /\bwhoever\b/i, instead: "write: the caller, the reader, you" },
  { found: /\bit goes by\b|\bgoes by (?:the|its|their|a)\b/i, instead: "write: follows, is keyed by, depends on" },
  { found: /\bhands? out the\b/i, instead: "write: returns" },
  { found: /\bheld against\b/i, instead: "write: checked against" },
  { found: /\bis looked at\b|\bare looked at\b/i, instead: "write: is read, is checked" },
  { found: /\bstands? (?:beside|over|behind) (?:it|them|yours|ours)\b/i, instead: "write: next to, overrides" },
  { found: /\bthe like\b/i, instead: "name them, or write: and similar" },
  { found: /\btake(?:s|n)? (?:a )?tree(?:s)? hold\b|\btaken? hold of\b/i, instead: "write: acquire" },
  { found: /\bby itself\b(?= (?:once|after|where|when))/i, instead: "write: automatically" },
  { found: /\bas it would be\b|\bmay well be\b/i, instead: "leave it out" },
  { found: /\bis no more\b|\bno more than that\b/i, instead: "write: no longer" },
  { found: /\bmends?\b|\bmended\b/i, instead: "write: fix" },
  {
    found: /\bwhom\b(?! nobody)/i,
    instead: "name the person or the thing"
  },
  {
    found:
      /(?<!\byou )\b(?:is|are|was|were|be|been|being|gets?) (?:also |not |never |only |each )?told\b(?! apart| to| of)/i,
    instead: "write: is notified of, reads, gets, is reported"
  },
  {
    found: /\b(?:goes|gone|went) on\b(?! with)|\bto go on\b(?! with)/i,
    instead: "write: continues, resumes"
  },
  {
    found: /\b(?:how|as) (?:it|that|they|a \w+|the \w+) stands?\b(?! there)/i,
    instead: "write: the status, as written"
  },
  { found: /\b(?:is|are|was|were) wanted\b/i, instead: "write: is requested, is needed, on request" },
  { found: /\b(?:is|are) (?:not )?there any more\b/i, instead: "write: no longer" },
  { found: /\blets? (?:it|them) go\b|\bis let go\b|\bbe let go\b/i, instead: "write: release" },
  { found: /\bfor as long as\b/i, instead: "write: while" },
  {
    found: /\b(?:what|whatever) (?:came|comes) of\b/i,
    instead: "write: the result of, what happens to"
  },
  {
    found: /\bwhere absent\b|\bwhere nothing else is said\b/i,
    instead: "write: if absent, by default"
  },
  { found: /\bhear[sd]? of\b/i, instead: "write: is notified of, gets, reads" },
  {
    found: /(?<!\bthere )\bis no (?:JSON|text|object|number|list|schema|budget)\b/i,
    instead: "write: is not JSON, is not text"
  },
  {
    found:
      /(?<!\bthere )\bis no (?:AI|agent|array|call|directory|file|link|member|name|option|path|session|table|terminal|tool|UTF-8|word)\b/i,
    instead: "write: is not a file, is not an AI"
  },
  { found: /\btells? of\b/i, instead: "write: describes, names, reports" },
  { found: /\bas far as it has come\b/i, instead: "write: the progress, the state" },
  { found: /\blets? in\b/i, instead: "write: admits, accepts" },
  { found: /\b(?:said|spoken) of\b/i, instead: "write: said about, mentioned" },
  {
    found: /\bwhere nothing is said\b|\bwhere nobody says\b/i,
    instead: "write: by default"
  }
]
