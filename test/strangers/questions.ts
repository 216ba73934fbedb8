/**
 * Sixty questions in the styles of PostgREST's and Hasura's documentation, put to the database of `cinema.sql`. Each is one request here. `answer` is a part of
 * the body, and it has every item of a list in its order.
 */

export interface Question {
  /** How it is asked there. */
  readonly there: string
  /** The request here; its query is written plainly. */
  readonly ask: string
  readonly body?: unknown
  readonly headers?: { readonly [name: string]: string }
  readonly status?: number
  readonly answer: unknown
}

const titles = (...names: readonly string[]) => ({ items: names.map((title) => ({ title })) })
const names = (...all: readonly string[]) => ({ items: all.map((name) => ({ name })) })

const cleo = "Cleo from 5 to 7"
const samurai = "Seven Samurai"

/** Reads, as PostgREST's pages on tables, operators, embedding and aggregates ask them. */
export const postgrest: readonly Question[] = [
  {
    there: "/films?select=title&year=eq.1985&order=title",
    ask: "films?fields=title&filter=year = 1985&order_by=title",
    answer: titles("Ran", "Vagabond")
  },
  {
    there: "/films?year=gte.1962&year=lt.1993&select=title,year&order=year.asc,title.desc",
    ask: "films?fields=title,year&filter=year >= 1962 AND year < 1993&order_by=year, title desc",
    answer: titles(cleo, "Vagabond", "Ran")
  },
  {
    there: "/films?or=(year.eq.1954,rating.lt.7.6)&order=id",
    ask: "films?filter=year = 1954 OR rating < 7.6&order_by=id",
    answer: titles(samurai, "The Piano")
  },
  {
    there: "/films?status=not.in.(released,planned)",
    ask: "films?filter=NOT in(status, released, planned)",
    answer: titles("Running Late")
  },
  {
    there: "/films?title=like.R*&order=title",
    ask: "films?filter=title = \"R*\"&order_by=title",
    answer: titles("Ran", "Running Late")
  },
  { there: "/films?title=ilike.*SEVEN*", ask: "films?filter=title:SEVEN", answer: titles(samurai) },
  { there: "/films?title=match.^The", ask: "films?filter=regex(title, '^The')", answer: titles("The Piano") },
  {
    there: "/films?rating=is.null&order=id",
    ask: "films?filter=rating = null&order_by=id",
    answer: titles("Running Late", "A Quiet Plan")
  },
  {
    there: "/films?order=rating.desc.nullslast&limit=2",
    ask: "films?filter=rating:*&order_by=rating desc&page_size=2",
    answer: titles(samurai, "Ran")
  },
  {
    there: "/films?limit=2&offset=4&order=id",
    ask: "films:seek?position=4&page_size=2&order_by=id",
    answer: titles("The Piano", "Running Late")
  },
  {
    there: "HEAD /films?year=gt.1980 with Prefer: count=exact",
    ask: "films?filter=year > 1980&page_size=1&count=exact&fields=id",
    answer: { total_size: 5 }
  },
  {
    there: "/films?select=title,directors(last_name)&id=eq.3",
    ask: "films?fields=title,director.last_name&filter=id = 3",
    answer: { items: [{ title: samurai, expand: { director: { last_name: "Kurosawa" } } }] }
  },
  {
    there: "/directors?select=last_name,films(title)&films.order=year.desc&films.limit=1&id=eq.2",
    ask:
      "directors?fields=last_name&filter=id = 2&expand=films(fields: \"title\", order_by: \"year desc\", page_size: 1)",
    answer: { items: [{ last_name: "Kurosawa", expand: { films: { items: [{ title: "Ran" }], more: true } } }] }
  },
  {
    there: "/films?select=title,roles(character,actors(name))&id=eq.1",
    ask: "films?fields=title&filter=id = 1&expand=roles(fields: \"character\").actor(fields: \"name\")",
    answer: {
      items: [{
        title: cleo,
        expand: { roles: [{ character: "Cleo", expand: { actor: { name: "Corinne Marchand" } } }] }
      }]
    }
  },
  {
    there: "/films?select=title,directors!inner(last_name)&directors.last_name=eq.Varda&order=id",
    ask: "films?fields=title&filter=director.last_name = Varda&order_by=id",
    answer: titles(cleo, "Vagabond")
  },
  {
    there: "/directors?select=last_name,films()&films=is.null",
    ask: "directors?filter=NOT has(films)",
    answer: { items: [{ last_name: "Nobody" }] }
  },
  {
    there: "/films?select=title,screenings!inner()&screenings.sold=gt.200",
    ask: "films?fields=title&filter=screenings.sold > 200",
    answer: titles(samurai)
  },
  {
    there: "/films?select=title,roles(count)&order=id&limit=3",
    ask: "films?fields=title&order_by=id&page_size=3&expand=roles(count)",
    answer: {
      items: [{ expand: { roles: { count: 1 } } }, { expand: { roles: { count: 1 } } }, {
        expand: { roles: { count: 2 } }
      }]
    }
  },
  {
    there: "/films?select=year,count(),takings.sum()&year=eq.1985",
    ask: "films:aggregate?group_by=year&measures=count,sum(takings)&filter=year = 1985",
    answer: { groups: [{ group: { year: 1985 }, measures: { "count": 2, "sum(takings)": "19000000.00" } }] }
  },
  {
    there: "/films?select=rating.avg(),rating.max()",
    ask: "films:aggregate?measures=avg(rating),max(rating)",
    answer: { groups: [{ measures: { "avg(rating)": "7.96", "max(rating)": "8.6" } }] }
  },
  {
    there: "/actors?or=(films_made.gt.150,and(films_made.lt.60,name.like.Cor*))&order=id",
    ask: "actors?filter=films_made > 150 OR (films_made < 60 AND name = \"Cor*\")&order_by=id",
    answer: names("Corinne Marchand", "Takashi Shimura")
  },
  {
    there: "POST /actors with Prefer: return=representation",
    ask: "POST actors",
    body: { name: "Juliet Berto" },
    status: 201,
    answer: { name: "Juliet Berto", films_made: 0 }
  },
  {
    there: "PATCH /actors?films_made=lt.1",
    ask: "PATCH actors?filter=films_made < 1&expected_count=1",
    body: { films_made: 3 },
    answer: {}
  },
  {
    there: "PUT /employees?email=eq.ed@example.org",
    ask: "PATCH employees/ed@example.org?match=email&allow_missing=true",
    headers: { "if-match": "*" },
    body: { name: "Ed", salary: "3000.00", hired_on: "2026-01-01" },
    status: 201,
    answer: { name: "Ed", email: "ed@example.org" }
  },
  { there: "DELETE /employees?name=eq.Ed", ask: "DELETE employees?filter=name = Ed&expected_count=1", answer: {} },
  { there: "/films?tags=cs.{war}&order=id", ask: "films?filter=tags:war&order_by=id", answer: titles(samurai, "Ran") },
  {
    there: "/films?tags=ov.{paris,music}&order=id",
    ask: "films?filter=in(tags, paris, music)&order_by=id",
    answer: titles(cleo, "The Piano", "A Quiet Plan")
  },
  { there: "/films?tags=eq.{}", ask: "films?filter=NOT length(tags) > 0", answer: titles("Running Late") },
  {
    there: "/films?words=wfts(english).piano or samurais&order=id",
    ask: "films?filter=search(words, \"piano or samurais\")&order_by=id",
    answer: titles(samurai, "The Piano")
  },
  {
    there: "/films?words=fts(english).samurai, ordered by ts_rank in a function",
    ask: "films?filter=search(words, \"samurai\")&order_by=rank(words, \"samurai\") desc, id",
    answer: titles(samurai)
  },
  {
    there: "a view that compares columns: takings > budget",
    ask: "films?filter=takings > field(budget)&order_by=id",
    answer: titles(cleo, "Ran", "The Piano")
  },
  {
    there: "a view that compares dates: released_on > planned_on",
    ask: "films?filter=released_on > field(planned_on)&order_by=id",
    answer: titles(cleo, "Ran")
  },
  {
    there: "/films?select=title,directors(last_name)&order=directors(last_name).desc,id.asc&limit=3",
    ask: "films?fields=title&order_by=director.last_name desc, id&filter=director_id:*&page_size=3",
    answer: titles(cleo, "Vagabond", samurai)
  },
  {
    there: "/films?runtime=gt.2 hours&order=id",
    ask: "films?filter=runtime > PT2H&order_by=id",
    answer: titles(samurai, "Ran")
  },
  {
    there: "/screenings?during=ov.[2026-03-02,2026-03-03)&order=id",
    ask: "screenings?fields=id&filter=overlaps(during, \"[2026-03-02T00:00:00Z,2026-03-03T00:00:00Z)\")&order_by=id",
    answer: { items: [{ id: "3" }, { id: "4" }] }
  },
  {
    there: "/screenings?during=cs.2026-03-01T20:00:00Z",
    ask: "screenings?fields=id&filter=during:\"2026-03-01T20:00:00Z\"",
    answer: { items: [{ id: "2" }] }
  },
  {
    there: "/screenings?price=gt.10&order=id",
    ask: "screenings?fields=id,price&filter=price > 10&order_by=id",
    answer: { items: [{ id: "2", price: "12.00" }, { id: "3", price: "12.00" }] }
  },
  {
    there: "/screenings?opens=lt.18:00&order=id",
    ask: "screenings?fields=id,opens&filter=opens < \"18:00\"&order_by=id",
    answer: { items: [{ id: "1", opens: "17:30:00" }, { id: "4", opens: "17:45:30.5" }] }
  },
  {
    there: "/screenings?booked_from=eq.10.0.0.7",
    ask: "screenings?fields=id&filter=booked_from = \"10.0.0.7\"",
    answer: { items: [{ id: "1" }] }
  },
  { there: "/films?select=poster&id=eq.1", ask: "films/1?fields=poster", answer: { poster: "AQI=" } },
  {
    there: "/employees?email=ilike.DI@EXAMPLE.ORG",
    ask: "employees?fields=name&filter=same(email, \"DI@EXAMPLE.ORG\")",
    answer: names("Di")
  },
  {
    there: "/films?order=status,id&limit=2",
    ask: "films?fields=title&order_by=status, id&page_size=2",
    answer: titles("A Quiet Plan", "Running Late")
  },
  {
    there: "/rpc/films_of?director=2&since=1960",
    ask: "films_of?fields=title&args.director=2&args.since=1960",
    answer: titles("Ran")
  },
  {
    there: "/film_sums?films=gt.1&order=last_name (a view)",
    ask: "film_sums?filter=films > 1&order_by=last_name",
    answer: { items: [{ last_name: "Campion" }, { last_name: "Kurosawa" }, { last_name: "Varda" }] }
  },
  {
    there: "/films_by_year?year=eq.1985 (a materialized view)",
    ask: "films_by_year?filter=year = 1985",
    answer: { items: [{ films: "2" }] }
  }
]

/** The same in the words of Hasura's pages on queries and mutations. */
export const hasura: readonly Question[] = [
  {
    there: "films(where: {director: {born: {_lt: \"1920-01-01\"}}}, order_by: {id: asc}) { title }",
    ask: "films?fields=title&filter=director.born < 1920-01-01&order_by=id",
    answer: titles(samurai, "Ran")
  },
  {
    there: "films(where: {roles: {actor: {name: {_ilike: \"%shimura%\"}}}}, order_by: {id: asc}) { title }",
    ask: "films?fields=title&filter=roles.actor.name:shimura&order_by=id",
    answer: titles(samurai, "Ran")
  },
  {
    there: "films(where: {roles_aggregate: {count: {predicate: {_gte: 2}}}}) { title }",
    ask: "films?fields=title&filter=count(roles) >= 2",
    answer: titles(samurai)
  },
  {
    there: "films(where: {_not: {screenings: {}}, status: {_eq: \"released\"}}, order_by: {id: asc}) { title }",
    ask: "films?fields=title&filter=status = released AND NOT has(screenings)&order_by=id",
    answer: titles("Vagabond", "Ran")
  },
  {
    there: "films(where: {screenings: {room: {code: {_eq: \"B\"}}, sold: {_lt: 20}}}) { title }",
    ask: "films?fields=title&filter=has(screenings, \"room_code.code = B AND sold < 20\")",
    answer: titles("The Piano")
  },
  {
    there: "directors { last_name films_aggregate(where: {year: {_gt: 1980}}) { aggregate { count } } }",
    ask: "directors?fields=last_name&expand=films(count, filter: \"year > 1980\")&order_by=id&page_size=2",
    answer: { items: [{ expand: { films: { count: 1 } } }, { expand: { films: { count: 1 } } }] }
  },
  {
    there: "employees { name employees { name employees { name } } } of the top",
    ask:
      "employees?fields=name&filter=manager_id = null&expand=employees(depth: 2, fields: \"name\", order_by: \"name\")",
    answer: {
      items: [{
        name: "Ada",
        expand: { employees: [{ name: "Ben", expand: { employees: [{ name: "Cy" }] } }, { name: "Di" }] }
      }]
    }
  },
  {
    there: "films_aggregate { aggregate { count(columns: director_id, distinct: true) } }",
    ask: "films:aggregate?measures=count_distinct(director_id)",
    answer: { groups: [{ measures: { "count_distinct(director_id)": 3 } }] }
  },
  {
    there: "insert_films_one(object: {title: …, roles: {data: […]}})",
    ask: "POST films",
    body: { title: "Daisies", year: 1966, roles: [{ actor_id: 1, character: "Marie" }] },
    status: 201,
    answer: { title: "Daisies" }
  },
  {
    there: "update_actors_by_pk(pk_columns: {id: 2}, _inc: {films_made: 1}) { films_made }",
    ask: "PATCH actors/2",
    headers: { "if-match": "*" },
    body: { films_made: { $add: 1 } },
    answer: { films_made: 151 }
  },
  { there: "films_by_pk(id: 4) { title }", ask: "films/4?fields=title", answer: { title: "Ran" } },
  {
    there: "a view that sums takings by directors { last_name }",
    ask:
      "films:aggregate?group_by=director.last_name&measures=count,sum(takings)&order_by=sum(takings) desc&filter=takings:*&limit=2",
    answer: {
      groups: [{ group: { "director.last_name": "Campion" }, measures: { "sum(takings)": "140000000.00" } }, {
        group: { "director.last_name": "Kurosawa" },
        measures: { count: 2 }
      }]
    }
  },
  {
    there: "films(distinct_on: year) { year }",
    ask: "films:facets?field=year&limit=1",
    answer: { facets: [{ value: 1985, count: 2 }] }
  },
  {
    there: "films(where: {tags: {_contains: [\"drama\"]}}, order_by: {director: {born: asc}, id: asc}) { title }",
    ask: "films?fields=title&filter=tags:drama&order_by=director.born, id",
    answer: titles(cleo, "Vagabond", "The Piano")
  },
  {
    there: "films(where: {status: {_gt: planned}}, order_by: {id: asc}) { title }",
    ask: "films?fields=title&filter=NOT status = planned&order_by=id&page_size=2",
    answer: titles(cleo, "Vagabond")
  },
  {
    there: "directors(where: {films_aggregate: {count: {predicate: {_eq: 0}}}}) { last_name }",
    ask: "directors?fields=last_name&filter=count(films) = 0",
    answer: { items: [{ last_name: "Nobody" }] }
  },
  {
    there:
      "films(where: {_or: [{director: {last_name: {_eq: \"Varda\"}}}, {rating: {_gt: 8.5}}]}, order_by: {id: asc}) { title }",
    ask: "films?fields=title&filter=director.last_name = Varda OR rating > 8.5&order_by=id",
    answer: titles(cleo, "Vagabond", samurai)
  },
  {
    there: "screenings_aggregate(where: …) { aggregate { sum { sold } max { sold } } } by room",
    ask: "screenings:aggregate?group_by=room_code.name&measures=sum(sold),max(sold)&order_by=room_code.name",
    answer: {
      groups: [{ group: { "room_code.name": "Grand" }, measures: { "sum(sold)": "419", "max(sold)": "299" } }, {
        group: { "room_code.name": "Studio" },
        measures: { "sum(sold)": "52" }
      }]
    }
  },
  {
    there: "insert_actors(objects: [{…}, {…}], on_conflict: …)",
    ask: "POST :batchWrite",
    body: {
      ops: ["Anna Karina", "Setsuko Hara"].map((name) => ({ op: "create", resource: "actors", data: { name } }))
    },
    answer: {}
  }
]
