/** Texts around links and actions, in each language. */

import type { Language } from "../messages/locale.tsx"

const en = {
  links: "Links",
  actions: "Actions",
  done: (label: string): string => `${label}: done`,
  tooMany: "An action takes at most 500 records."
}

type Words = typeof en

export const words: Readonly<Record<Language, Words>> = {
  en,
  de: {
    links: "Links",
    actions: "Aktionen",
    done: (label) => `${label}: erledigt`,
    tooMany: "Eine Aktion umfasst höchstens 500 Datensätze."
  },
  fr: {
    links: "Liens",
    actions: "Actions",
    done: (label) => `${label} : terminé`,
    tooMany: "Une action prend au plus 500 fiches."
  },
  es: {
    links: "Enlaces",
    actions: "Acciones",
    done: (label) => `${label}: hecho`,
    tooMany: "Una acción admite como máximo 500 registros."
  },
  ar: {
    links: "روابط",
    actions: "إجراءات",
    done: (label) => `${label}: تم`,
    tooMany: "يقبل الإجراء 500 سجل على الأكثر."
  }
}
