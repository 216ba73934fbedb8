/** Texts and keys that mean harm to a page, a spreadsheet or a shell that takes them for more than text. */

/** Sets `harmed` in the page that takes it for markup. */
export const markup = "<img src=x onerror=\"globalThis.harmed=1\"><script>globalThis.harmed=1</script>"

/** By what they are: texts that a service stores as they are. */
export const texts: ReadonlyMap<string, string> = new Map([
  ["markup", markup],
  ["closing", "</title></textarea></script></style><svg onload=globalThis.harmed=1>"],
  ["address", "javascript:globalThis.harmed=1"],
  ["override", "invoice\u202efdp.exe"],
  ["isolate", "left \u2067 right \u202b never ended"],
  ["arabic", "مرحبا <b>عالم</b>"],
  ["formula", "=HYPERLINK(\"http://evil.example\",\"press\")"],
  ["shell", "'; touch /tmp/harmed; $(touch /tmp/harmed) `touch /tmp/harmed` #"],
  ["template", "{{7*7}} ${7*7} %s %n {name}"],
  ["control", "a\u0001b\u0007c\u001b[31md\u007fe\u0085f"],
  ["lines", "one\r\ntwo\u2028three\u2029four\tfive"],
  ["zalgo", `Z${"\u0301\u0328".repeat(150)}o`],
  ["joined", "👩‍👩‍👧‍👦🏳️‍🌈é"],
  ["surrogates", `x${"😀".repeat(300)}`],
  ["word", "W".repeat(10_000)],
  ["invisible", "\u200b\u2060\ufeff\u00ad"],
  ["prototype", "__proto__"],
  ["long", "All work and no play makes a long text. ".repeat(2_500)]
])

/** Keys whose characters mean something in an address. */
export const keys = ["a/b", "c,d", "e%2Ff", "g'h$(i)`j`", "k?l#m&n=o", " p ", "q\\r", "ü😀", "s\u202et", "constructor"]
