-- When a file expires: not while a message refers to it.

-- A file with a reference does not expire.
create function runs_file_referred() returns trigger language plpgsql as $$
begin
    update runs_file set expires_at = null where id = new.file_id and expires_at is not null;
    return null;
end $$;

create trigger runs_file_referred after insert on runs_filereference for each row
    execute function runs_file_referred();

-- A file that loses its last reference expires now.
create function runs_file_released() returns trigger language plpgsql as $$
begin
    perform from runs_file where id = old.file_id for no key update;
    update runs_file set expires_at = clock_timestamp() where id = old.file_id
       and not exists (select from runs_filereference where file_id = old.file_id);
    return null;
end $$;

create trigger runs_file_released after delete on runs_filereference for each row
    execute function runs_file_released();
