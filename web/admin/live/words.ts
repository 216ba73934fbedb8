/** Messages about changes by others, in the languages of the app. They are not part of the first page. */

import type { Language } from "../messages/locale.tsx"

export interface LiveWords {
  /** New records that the list would show. */
  readonly fresh: (count: number, text: string) => string
  /** The whole list has changed. */
  readonly other: string
  /** Somebody changed the shown record. `fields`: the labels of the changed fields. `who`: their name, where the reader may know it. */
  readonly changed: (fields: string, who: string | null) => string
  /** The same while the form has unsaved changes. */
  readonly meanwhile: (fields: string, who: string | null) => string
  readonly removed: string
  readonly hide: string
}

const counted = (language: string, words: { readonly [rule: string]: string }) => {
  const rules = new Intl.PluralRules(language)
  return (count: number, text: string): string => (words[rules.select(count)] ?? words["other"]!).replace("#", text)
}

export const liveWords: Readonly<Record<Language, LiveWords>> = {
  en: {
    fresh: counted("en", { other: "# new" }),
    other: "The list has changed",
    changed: (fields, who) => `${who ?? "Somebody"} changed this record: ${fields}.`,
    meanwhile: (fields, who) =>
      `${who ?? "Somebody"} changed this record while you edit it: ${fields}. Saving merges both.`,
    removed: "Somebody deleted this record.",
    hide: "Hide"
  },
  de: {
    fresh: counted("de", { one: "# neuer Datensatz", other: "# neue Datensätze" }),
    other: "Die Liste hat sich geändert",
    changed: (fields, who) => `${who ?? "Jemand"} hat diesen Datensatz geändert: ${fields}.`,
    meanwhile: (fields, who) =>
      `${
        who ?? "Jemand"
      } hat diesen Datensatz geändert, während Sie ihn bearbeiten: ${fields}. Beim Speichern wird beides zusammengeführt.`,
    removed: "Jemand hat diesen Datensatz gelöscht.",
    hide: "Ausblenden"
  },
  fr: {
    fresh: counted("fr", { one: "# nouvelle fiche", other: "# nouvelles fiches" }),
    other: "La liste a changé",
    changed: (fields, who) => `${who ?? "Quelqu’un"} a modifié cette fiche : ${fields}.`,
    meanwhile: (fields, who) =>
      `${who ?? "Quelqu’un"} a modifié cette fiche pendant votre saisie : ${fields}. L’enregistrement réunit les deux.`,
    removed: "Quelqu’un a supprimé cette fiche.",
    hide: "Masquer"
  },
  es: {
    fresh: counted("es", { one: "# registro nuevo", other: "# registros nuevos" }),
    other: "La lista ha cambiado",
    changed: (fields, who) => `${who ?? "Alguien"} ha cambiado este registro: ${fields}.`,
    meanwhile: (fields, who) =>
      `${
        who ?? "Alguien"
      } ha cambiado este registro mientras usted lo edita: ${fields}. Al guardar se unen ambos cambios.`,
    removed: "Alguien ha eliminado este registro.",
    hide: "Ocultar"
  },
  ar: {
    fresh: counted("ar", { one: "سجل جديد واحد", two: "سجلان جديدان", few: "# سجلات جديدة", other: "# سجلًا جديدًا" }),
    other: "تغيّرت القائمة",
    changed: (fields, who) => `غيّر ${who ?? "شخص آخر"} هذا السجل: ${fields}.`,
    meanwhile: (fields, who) =>
      `غيّر ${who ?? "شخص آخر"} هذا السجل أثناء تحريرك له: ${fields}. يجمع الحفظ بين التغييرين.`,
    removed: "حذف شخص آخر هذا السجل.",
    hide: "إخفاء"
  }
}
