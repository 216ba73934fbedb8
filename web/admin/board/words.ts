/** Texts of composed pages, in each language. */

import type { Language } from "../messages/locale.tsx"
import { arabicCount } from "../messages/plural.ts"

const dayCount = arabicCount("يوم", "يومين", "أيام", "يومًا")

const en = {
  last: (_: number, shown: string): string => `Last ${shown} days`,
  change: (percent: string): string => `${percent} against the time before`,
  none: "Nothing here",
  all: "Show all",
  failed: "This part could not be read.",
  noComponent: (name: string): string => `The component “${name}” is not there.`
}

type Words = typeof en

export const words: Readonly<Record<Language, Words>> = {
  en,
  de: {
    last: (_, shown) => `Letzte ${shown} Tage`,
    change: (percent) => `${percent} gegenüber der Zeit davor`,
    none: "Hier ist noch nichts",
    all: "Alle zeigen",
    failed: "Dieser Teil konnte nicht gelesen werden.",
    noComponent: (name) => `Die Komponente „${name}“ ist nicht da.`
  },
  fr: {
    last: (_, shown) => `${shown} derniers jours`,
    change: (percent) => `${percent} par rapport à la période précédente`,
    none: "Rien ici",
    all: "Tout afficher",
    failed: "Cette partie n’a pas pu être lue.",
    noComponent: (name) => `Le composant « ${name} » est absent.`
  },
  es: {
    last: (_, shown) => `Últimos ${shown} días`,
    change: (percent) => `${percent} respecto al periodo anterior`,
    none: "No hay nada aquí",
    all: "Ver todo",
    failed: "No se pudo leer esta parte.",
    noComponent: (name) => `Falta el componente «${name}».`
  },
  ar: {
    last: (days, shown) => `آخر ${dayCount(days, shown)}`,
    change: (percent) => `${percent} مقارنة بالفترة السابقة`,
    none: "لا شيء هنا",
    all: "عرض الكل",
    failed: "تعذّرت قراءة هذا الجزء.",
    noComponent: (name) => `المكوّن «${name}» غير موجود.`
  }
}
