-- As the older script of Chinook: names of tables and columns in mixed case, keys without defaults.
create table "Artist" ("ArtistId" int not null constraint "PK_Artist" primary key, "Name" varchar(120));
create table "Genre" ("GenreId" int not null constraint "PK_Genre" primary key, "Name" varchar(120));
create table "MediaType" ("MediaTypeId" int not null constraint "PK_MediaType" primary key, "Name" varchar(120));
create table "Playlist" ("PlaylistId" int not null constraint "PK_Playlist" primary key, "Name" varchar(120));
create table "Album" ("AlbumId" int not null constraint "PK_Album" primary key, "Title" varchar(160) not null, "ArtistId" int not null references "Artist");
create table "Employee" ("EmployeeId" int not null primary key, "LastName" varchar(20) not null, "FirstName" varchar(20) not null, "Title" varchar(30),
  "ReportsTo" int references "Employee", "BirthDate" timestamp, "HireDate" timestamp, "Email" varchar(60));
create table "Customer" ("CustomerId" int not null primary key, "FirstName" varchar(40) not null, "LastName" varchar(20) not null, "Company" varchar(80),
  "Email" varchar(60) not null, "SupportRepId" int references "Employee");
create table "Invoice" ("InvoiceId" int not null primary key, "CustomerId" int not null references "Customer", "InvoiceDate" timestamp not null,
  "BillingAddress" varchar(70), "Total" numeric(10, 2) not null);
create table "Track" ("TrackId" int not null primary key, "Name" varchar(200) not null, "AlbumId" int references "Album", "MediaTypeId" int not null references "MediaType",
  "GenreId" int references "Genre", "Composer" varchar(220), "Milliseconds" int not null, "Bytes" int, "UnitPrice" numeric(10, 2) not null);
create table "InvoiceLine" ("InvoiceLineId" int not null primary key, "InvoiceId" int not null references "Invoice", "TrackId" int not null references "Track",
  "UnitPrice" numeric(10, 2) not null, "Quantity" int not null);
create table "PlaylistTrack" ("PlaylistId" int not null references "Playlist", "TrackId" int not null references "Track", primary key ("PlaylistId", "TrackId"));
create index "IFK_AlbumArtistId" on "Album" ("ArtistId");
create index "IFK_TrackAlbumId" on "Track" ("AlbumId");

insert into "Artist" values (1, 'AC/DC'), (2, 'Antônio Carlos Jobim'), (3, 'Queen'), (4, null);
insert into "Genre" values (1, 'Rock'), (2, 'Bossa Nova');
insert into "MediaType" values (1, 'MPEG audio file'), (2, 'AAC audio file');
insert into "Playlist" values (1, 'Music'), (2, 'Movies'), (8, 'Music');
insert into "Album" values (1, 'For Those About To Rock', 1), (2, 'Greatest Hits', 3), (3, 'Greatest Hits', 1), (4, repeat('Wave ', 32), 2);
insert into "Employee" values (1, 'Adams', 'Andrew', 'General Manager', null, '1962-02-18', '2002-08-14', 'andrew@example.org'), (2, 'Edwards', 'Nancy', null, 1, null, null, null);
insert into "Customer" values (1, 'Luís', 'Gonçalves', 'Embraer', 'luisg@example.org', 2), (2, 'Leonie', 'Köhler', null, 'leo@example.org', null);
insert into "Invoice" values (1, 2, '2009-01-01 00:00:00', 'Theodor-Heuss-Straße 34', 1.98), (2, 1, '2009-01-02 10:30:00', null, 0);
insert into "Track" values (1, 'Hells Bells', 1, 1, 1, 'Young/Johnson', 343719, 11170334, 0.99), (2, 'Wave', 4, 2, 2, null, 171, null, 1.99), (3, 'Hells Bells', null, 1, null, null, 1, null, 0.99);
insert into "InvoiceLine" values (1, 1, 1, 0.99, 1), (2, 1, 3, 0.99, 1);
insert into "PlaylistTrack" values (1, 1), (1, 2), (8, 1);
