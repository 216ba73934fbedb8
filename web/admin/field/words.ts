/** Texts of fields that hold several files, in each language. */

import type { Loose } from "../messages/en.ts"
import type { Language } from "../messages/locale.tsx"

const en = {
  drop: "Drop files here, or paste them.",
  add: "Add files",
  most: (count: number): string => count === 1 ? "At most 1 file." : `At most ${count} files.`,
  remove: (name: string): string => `Remove ${name}`,
  up: (name: string): string => `Move ${name} up`,
  down: (name: string): string => `Move ${name} down`,
  place: (name: string, at: string, all: string): string => `${name} is now ${at} of ${all}.`,
  removed: (name: string): string => `${name} is removed.`,
  waiting: "Waiting",
  inRecord: "Open the record to change its files."
}

export type FilesWords = Loose<typeof en>

export const words: Readonly<Record<Language, FilesWords>> = {
  en,
  de: {
    drop: "Dateien hierher ziehen oder einfügen.",
    add: "Dateien hinzufügen",
    most: (count) => count === 1 ? "Höchstens 1 Datei." : `Höchstens ${count} Dateien.`,
    remove: (name) => `${name} entfernen`,
    up: (name) => `${name} nach oben`,
    down: (name) => `${name} nach unten`,
    place: (name, at, all) => `${name} steht jetzt an Stelle ${at} von ${all}.`,
    removed: (name) => `${name} ist entfernt.`,
    waiting: "Wartet",
    inRecord: "Öffnen Sie den Datensatz, um seine Dateien zu ändern."
  },
  fr: {
    drop: "Déposez ou collez des fichiers ici.",
    add: "Ajouter des fichiers",
    most: (count) => count === 1 ? "Au plus 1 fichier." : `Au plus ${count} fichiers.`,
    remove: (name) => `Retirer ${name}`,
    up: (name) => `Monter ${name}`,
    down: (name) => `Descendre ${name}`,
    place: (name, at, all) => `${name} est maintenant en position ${at} sur ${all}.`,
    removed: (name) => `${name} est retiré.`,
    waiting: "En attente",
    inRecord: "Ouvrez l’enregistrement pour modifier ses fichiers."
  },
  es: {
    drop: "Suelte o pegue archivos aquí.",
    add: "Añadir archivos",
    most: (count) => count === 1 ? "Como máximo 1 archivo." : `Como máximo ${count} archivos.`,
    remove: (name) => `Quitar ${name}`,
    up: (name) => `Subir ${name}`,
    down: (name) => `Bajar ${name}`,
    place: (name, at, all) => `${name} está ahora en la posición ${at} de ${all}.`,
    removed: (name) => `${name} se ha quitado.`,
    waiting: "En espera",
    inRecord: "Abra el registro para cambiar sus archivos."
  },
  ar: {
    drop: "أفلت الملفات هنا أو الصقها.",
    add: "إضافة ملفات",
    most: (count) => `الحد الأقصى لعدد الملفات: ${count}.`,
    remove: (name) => `إزالة ${name}`,
    up: (name) => `نقل ${name} إلى أعلى`,
    down: (name) => `نقل ${name} إلى أسفل`,
    place: (name, at, all) => `${name} الآن في الموضع ${at} من ${all}.`,
    removed: (name) => `أزيل ${name}.`,
    waiting: "في الانتظار",
    inRecord: "افتح السجل لتغيير ملفاته."
  }
}
